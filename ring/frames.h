// The ring's protocol. A frame has a header of eight bytes ("MR", the type, 0, the payload's length as a 32-bit number)
// and a payload. Numbers are big-endian. A string begins with its length in 16 bits. Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "ring/fault.h"

namespace muster::ring {

enum class FrameType : uint8_t {
  kHello = 1,  // a Hello; the dialing side sends it first, and the accepting side answers with its own
  kToken = 2,  // goes round the ring, twice for a barrier
  kPing = 3,   // 8 bytes; the answer is a kPong with the same payload
  kPong = 4,
  kStream = 5,     // bytes without meaning, to measure the bandwidth; at most kStreamFrameBytes
  kStreamEnd = 6,  // ends one pass of the bandwidth measurement
  kRecord = 7,     // a Record; goes round the ring once
  kChunk = 8,      // a piece of a part of the sum, at most kMaxChunkBytes; the receiver knows the part's size
  kFault = 9,      // a Fault; each rank passes it on
  kSettled = 10,   // the number (4 bytes) of a rank that has sent all its faults; each rank passes it on
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
// `bytes`: kHeaderBytes bytes. nullopt: they are not of this protocol, the type is unknown, or the length is more than
// the type allows.
std::optional<Header> DecodeHeader(const char* bytes);

struct Hello {
  uint32_t version = kRingVersion;
  std::string job_id;
  uint32_t run = 0;
  uint32_t round = 0;
  uint32_t size = 0;
  uint32_t from = 0;
  uint32_t to = 0;
  uint64_t bytes = 0;        // the size of the sum; must be equal at all ranks
  uint32_t slow_factor = 0;  // must be equal at all ranks, because otherwise their results differ
  bool operator==(const Hello&) const = default;
};

// One rank's measurements.
struct Record {
  uint32_t stage = 0;  // the number of this exchange of records; all ranks count it in the same way
  uint32_t rank = 0;
  uint64_t bytes_per_second = 0;   // of the link from the previous rank
  uint64_t latency_ns = 0;         // half of the shortest round trip to the next rank
  uint64_t latency_median_ns = 0;  // half of the median round trip to the next rank
  uint64_t sum_ns = 0;             // how long the sum took
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
