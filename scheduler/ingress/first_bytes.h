// Checks on a connection before gRPC has it: the protocol of its first bytes, and whether there is a descriptor for it.
#pragma once

#include <cstddef>
#include <string>

namespace muster::scheduler {

enum class FirstBytes { kHttp2, kTls, kGarbage };

inline constexpr size_t kFirstBytesWanted = 24;  // the client preface of HTTP/2 (RFC 9113, 3.4)

// `bytes`: at least one, as many as have come. A beginning of the preface counts as HTTP/2.
FirstBytes Classify(const std::string& bytes);

// True if a new descriptor would get a number below `bound`. The kernel hands out the lowest free number, so a number
// at or above it means that at least `bound` descriptors are in use, no matter by what. Any thread.
bool HasDescriptorBelow(size_t bound);

}  // namespace muster::scheduler
