#include "ring/frames.h"

#include <string_view>

#include "common/base/bytes.h"
#include "common/base/limits.h"

namespace muster::ring {
namespace {

constexpr std::string_view kMark = "MR";

size_t LongestOf(FrameType type) {
  switch (type) {
    case FrameType::kHello:
    case FrameType::kRecord:
    case FrameType::kFault:
      return kMaxControlBytes;
    case FrameType::kPing:
    case FrameType::kPong:
      return 8;
    case FrameType::kSettled:
      return 4;
    case FrameType::kToken:
    case FrameType::kStreamEnd:
      return 0;
    case FrameType::kStream:
      return kStreamFrameBytes;
    case FrameType::kChunk:
      return kMaxChunkBytes;
  }
  return 0;
}

}  // namespace

std::string EncodeHeader(FrameType type, size_t length) {
  return BigEndianWriter().Bytes(kMark).Put(type).Put(uint8_t{0}).Put(static_cast<uint32_t>(length)).Take();
}

std::optional<Header> DecodeHeader(const char* bytes) {
  BigEndianReader reader(std::string_view(bytes, kHeaderBytes));
  const bool is_ours = reader.Bytes(kMark.size()) == kMark;
  const auto type = reader.Take<uint8_t>();
  const bool is_known =
      type >= static_cast<uint8_t>(FrameType::kHello) && type <= static_cast<uint8_t>(FrameType::kSettled);
  if (!is_ours || !is_known || reader.Take<uint8_t>() != 0) return std::nullopt;
  const Header header{static_cast<FrameType>(type), reader.Take<uint32_t>()};
  if (header.length > LongestOf(header.type)) return std::nullopt;
  return header;
}

std::string Encode(const Hello& h) {
  return BigEndianWriter()
      .Put(h.version)
      .Text<uint16_t>(h.job_id)
      .Put(h.run)
      .Put(h.round)
      .Put(h.size)
      .Put(h.from)
      .Put(h.to)
      .Put(h.bytes)
      .Put(h.slow_factor)
      .Take();
}

std::string Encode(const Record& r) {
  return BigEndianWriter()
      .Put(r.stage)
      .Put(r.rank)
      .Put(r.bytes_per_second)
      .Put(r.latency_ns)
      .Put(r.latency_median_ns)
      .Put(r.sum_ns)
      .Take();
}

std::string Encode(const Fault& f) {
  return BigEndianWriter()
      .Put(f.from)
      .Put(f.to)
      .Put(f.kind)
      .Put(f.reporter)
      .Put(f.progress)
      .Text<uint16_t>(f.detail)
      .Take();
}

std::string EncodeSettled(uint32_t rank) { return BigEndianWriter().Put(rank).Take(); }

std::optional<uint32_t> DecodeSettled(const std::string& payload) {
  BigEndianReader reader(payload);
  const uint32_t rank = reader.Take<uint32_t>();
  if (!reader.IsDone()) return std::nullopt;
  return rank;
}

std::optional<Hello> DecodeHello(const std::string& payload) {
  BigEndianReader reader(payload);
  Hello h;
  h.version = reader.Take<uint32_t>();
  h.job_id = reader.Text<uint16_t>(kMaxIdBytes);
  h.run = reader.Take<uint32_t>();
  h.round = reader.Take<uint32_t>();
  h.size = reader.Take<uint32_t>();
  h.from = reader.Take<uint32_t>();
  h.to = reader.Take<uint32_t>();
  h.bytes = reader.Take<uint64_t>();
  h.slow_factor = reader.Take<uint32_t>();
  if (!reader.IsDone()) return std::nullopt;
  return h;
}

std::optional<Record> DecodeRecord(const std::string& payload) {
  BigEndianReader reader(payload);
  Record r;
  r.stage = reader.Take<uint32_t>();
  r.rank = reader.Take<uint32_t>();
  r.bytes_per_second = reader.Take<uint64_t>();
  r.latency_ns = reader.Take<uint64_t>();
  r.latency_median_ns = reader.Take<uint64_t>();
  r.sum_ns = reader.Take<uint64_t>();
  if (!reader.IsDone()) return std::nullopt;
  return r;
}

std::optional<Fault> DecodeFault(const std::string& payload) {
  BigEndianReader reader(payload);
  Fault f;
  f.from = reader.Take<uint32_t>();
  f.to = reader.Take<uint32_t>();
  const auto kind = reader.Take<uint8_t>();
  f.reporter = reader.Take<uint32_t>();
  f.progress = reader.Take<uint64_t>();
  f.detail = reader.Text<uint16_t>(kMaxFaultDetailBytes);
  const bool is_kind =
      kind >= static_cast<uint8_t>(FaultKind::kWrongCertificate) && kind <= static_cast<uint8_t>(FaultKind::kStalled);
  if (!reader.IsDone() || !is_kind) return std::nullopt;
  f.kind = static_cast<FaultKind>(kind);
  return f;
}

}  // namespace muster::ring
