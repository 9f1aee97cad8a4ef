// The ring's protocol. A frame is a header of eight bytes ("MR", type, 0, length as a big-endian 32-bit number) and a
// payload. Numbers are big-endian; strings have a length of 16 bits. Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "ring/fault.h"

namespace muster::ring {

enum class FrameType : uint8_t {
  kHello = 1,  // Hello; the dialing side sends it first, the other answers
  kToken = 2,  // goes round the ring, twice for a barrier
  kPing = 3,   // answered by kPong with the same payload of 8 bytes
  kPong = 4,
  kStream = 5,     // bytes that only take time, at most kStreamFrameBytes
  kStreamEnd = 6,  // ends a pass
  kRecord = 7,     // Record; goes round once
  kChunk = 8,      // a piece of a part of the sum, at most kMaxChunkBytes; the receiver knows the total beforehand
  kFault = 9,      // Fault; passed on as far as links reach
  kSettled = 10,   // the number (4 bytes) of a rank that has sent all it knows; passed on as far as links reach
};

inline constexpr size_t kHeaderBytes = 8;
inline constexpr size_t kMaxControlBytes = 1024;
inline constexpr size_t kStreamFrameBytes = 64 * 1024;
inline constexpr size_t kMaxChunkBytes = 256 * 1024;
inline constexpr uint32_t kRingVersion = 2;

struct Header {
  FrameType type = FrameType::kToken;
  uint32_t length = 0;
};

std::string EncodeHeader(FrameType type, size_t length);
// `bytes` holds kHeaderBytes. nullopt: not this protocol, an unknown type, or longer than the type allows.
std::optional<Header> DecodeHeader(const char* bytes);

struct Hello {
  uint32_t version = kRingVersion;
  std::string job_id;
  uint32_t run = 0;
  uint32_t round = 0;
  uint32_t size = 0;
  uint32_t from = 0;
  uint32_t to = 0;
  uint64_t bytes = 0;        // of the sum: must be equal everywhere …
  uint32_t slow_factor = 0;  // … and so must this, or the ranks' results differ
  bool operator==(const Hello&) const = default;
};

// One rank's measurements.
struct Record {
  uint32_t stage = 0;  // 1: the links, 2: the sum
  uint32_t rank = 0;
  uint64_t bytes_per_second = 0;   // from the rank before
  uint64_t latency_ns = 0;         // half a round trip to the next rank: the least …
  uint64_t latency_median_ns = 0;  // … and the middle one
  uint64_t sum_ns = 0;
  bool operator==(const Record&) const = default;
};

std::string Encode(const Hello& hello);
std::string Encode(const Record& record);
std::string Encode(const Fault& fault);
std::string EncodeSettled(uint32_t rank);
// nullopt: malformed.
std::optional<Hello> DecodeHello(const std::string& payload);
std::optional<Record> DecodeRecord(const std::string& payload);
std::optional<Fault> DecodeFault(const std::string& payload);
std::optional<uint32_t> DecodeSettled(const std::string& payload);

}  // namespace muster::ring
