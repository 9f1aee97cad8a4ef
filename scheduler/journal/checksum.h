// The checksum of the journal's records and snapshots.
#pragma once

#include <cstdint>
#include <string>

namespace muster::scheduler {

// Returns the first 8 bytes (big-endian) of the SHA-256 of the sequence (8 bytes, big-endian) and the body. It covers
// the sequence, so that a record under a wrong sequence is detected like a damaged one.
int64_t Checksum(uint64_t sequence, const std::string& body);

}  // namespace muster::scheduler
