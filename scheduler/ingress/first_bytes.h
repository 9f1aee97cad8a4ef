// What can be told of a connection before gRPC has it: what its first bytes say about who is there, and whether there
// is room for it.
#pragma once

#include <cstddef>
#include <string>

namespace muster::scheduler {

enum class FirstBytes { kHttp2, kTls, kGarbage };

inline constexpr size_t kFirstBytesWanted = 24;  // the client preface of HTTP/2 (RFC 9113, 3.4)

// `bytes`: at least one, as many as are there already. A beginning of the preface counts as HTTP/2.
FirstBytes Classify(const std::string& bytes);

// Whether a new descriptor would still have a number below `bound`. The kernel hands out the lowest free number, so a
// number at or above it says that at least `bound` descriptors are in use, whoever opened them. Any thread.
bool HasDescriptorBelow(size_t bound);

}  // namespace muster::scheduler
