// Checks on a connection before gRPC gets it: which protocol its first bytes belong to, and whether a descriptor is
// free.
#pragma once

#include <cstddef>
#include <string>

namespace muster::scheduler {

enum class FirstBytes { kHttp2, kTls, kGarbage };

inline constexpr size_t kFirstBytesWanted = 24;  // the client preface of HTTP/2 (RFC 9113, 3.4)

// Returns the protocol of a connection by the bytes that have come so far (at least one). If they are only a part of
// the preface, that counts as HTTP/2.
FirstBytes Classify(const std::string& bytes);

// True if a new descriptor would get a number below `bound`. The kernel hands out the lowest free number. So false
// means that this process has at least `bound` descriptors open. Any thread.
bool HasDescriptorBelow(size_t bound);

}  // namespace muster::scheduler
