#include "ring/frames.h"

#include "common/base/limits.h"

namespace muster::ring {
namespace {

class Writer {
 public:
  Writer& Number(uint64_t value, int bytes) {
    for (int shift = 8 * (bytes - 1); shift >= 0; shift -= 8) out_ += static_cast<char>(value >> shift & 0xFF);
    return *this;
  }
  Writer& U32(uint32_t value) { return Number(value, 4); }
  Writer& U64(uint64_t value) { return Number(value, 8); }
  Writer& Text(const std::string& text) {
    Number(text.size(), 2);
    out_ += text;
    return *this;
  }
  std::string Take() { return std::move(out_); }

 private:
  std::string out_;
};

// After the first lack everything reads as 0 and IsDone is false.
class Reader {
 public:
  explicit Reader(const std::string& bytes) : bytes_(bytes) {}

  uint64_t Number(size_t count) {
    if (bytes_.size() - at_ < count) {
      is_good_ = false;
      return 0;
    }
    uint64_t value = 0;
    for (size_t i = 0; i < count; ++i) value = value << 8 | static_cast<unsigned char>(bytes_[at_++]);
    return value;
  }
  uint32_t U32() { return static_cast<uint32_t>(Number(4)); }
  uint64_t U64() { return Number(8); }
  std::string Text(size_t limit) {
    const size_t size = Number(2);
    if (size > limit || bytes_.size() - at_ < size) {
      is_good_ = false;
      return "";
    }
    at_ += size;
    return bytes_.substr(at_ - size, size);
  }
  bool IsDone() const { return is_good_ && at_ == bytes_.size(); }

 private:
  const std::string& bytes_;
  size_t at_ = 0;
  bool is_good_ = true;
};

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
  return Writer()
      .Number('M', 1)
      .Number('R', 1)
      .Number(static_cast<uint8_t>(type), 1)
      .Number(0, 1)
      .Number(length, 4)
      .Take();
}

std::optional<Header> DecodeHeader(const char* bytes) {
  const std::string text(bytes, kHeaderBytes);
  Reader reader(text);
  const bool is_ours = reader.Number(1) == 'M' && reader.Number(1) == 'R';
  const uint64_t type = reader.Number(1);
  const bool is_known =
      type >= static_cast<uint8_t>(FrameType::kHello) && type <= static_cast<uint8_t>(FrameType::kSettled);
  if (!is_ours || !is_known || reader.Number(1) != 0) return std::nullopt;
  const Header header{static_cast<FrameType>(type), reader.U32()};
  if (header.length > LongestOf(header.type)) return std::nullopt;
  return header;
}

std::string Encode(const Hello& h) {
  return Writer()
      .U32(h.version)
      .Text(h.job_id)
      .U32(h.run)
      .U32(h.round)
      .U32(h.size)
      .U32(h.from)
      .U32(h.to)
      .U64(h.bytes)
      .U32(h.slow_factor)
      .Take();
}

std::string Encode(const Record& r) {
  return Writer()
      .U32(r.stage)
      .U32(r.rank)
      .U64(r.bytes_per_second)
      .U64(r.latency_ns)
      .U64(r.latency_median_ns)
      .U64(r.sum_ns)
      .Take();
}

std::string Encode(const Fault& f) {
  return Writer()
      .U32(f.from)
      .U32(f.to)
      .Number(static_cast<uint8_t>(f.kind), 1)
      .U32(f.reporter)
      .U64(f.progress)
      .Text(f.detail)
      .Take();
}

std::string EncodeSettled(uint32_t rank) { return Writer().U32(rank).Take(); }

std::optional<uint32_t> DecodeSettled(const std::string& payload) {
  Reader reader(payload);
  const uint32_t rank = reader.U32();
  if (!reader.IsDone()) return std::nullopt;
  return rank;
}

std::optional<Hello> DecodeHello(const std::string& payload) {
  Reader reader(payload);
  Hello h;
  h.version = reader.U32();
  h.job_id = reader.Text(kMaxIdBytes);
  h.run = reader.U32();
  h.round = reader.U32();
  h.size = reader.U32();
  h.from = reader.U32();
  h.to = reader.U32();
  h.bytes = reader.U64();
  h.slow_factor = reader.U32();
  if (!reader.IsDone()) return std::nullopt;
  return h;
}

std::optional<Record> DecodeRecord(const std::string& payload) {
  Reader reader(payload);
  Record r;
  r.stage = reader.U32();
  r.rank = reader.U32();
  r.bytes_per_second = reader.U64();
  r.latency_ns = reader.U64();
  r.latency_median_ns = reader.U64();
  r.sum_ns = reader.U64();
  if (!reader.IsDone()) return std::nullopt;
  return r;
}

std::optional<Fault> DecodeFault(const std::string& payload) {
  Reader reader(payload);
  Fault f;
  f.from = reader.U32();
  f.to = reader.U32();
  const uint64_t kind = reader.Number(1);
  f.reporter = reader.U32();
  f.progress = reader.U64();
  f.detail = reader.Text(kMaxFaultDetailBytes);
  const bool is_kind =
      kind >= static_cast<uint8_t>(FaultKind::kWrongCertificate) && kind <= static_cast<uint8_t>(FaultKind::kStalled);
  if (!reader.IsDone() || !is_kind) return std::nullopt;
  f.kind = static_cast<FaultKind>(kind);
  return f;
}

}  // namespace muster::ring
