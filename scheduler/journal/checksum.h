// The journal's checksum.
#pragma once

#include <cstdint>
#include <string>

namespace muster::scheduler {

// The first 8 bytes (big-endian) of SHA-256 over the sequence (8 bytes, big-endian) and the body: a body under another
// sequence is as wrong as a damaged one.
int64_t Checksum(uint64_t sequence, const std::string& body);

}  // namespace muster::scheduler
