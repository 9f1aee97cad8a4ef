#include "worker_agent/gateway/exec/frames.h"

#include "common/base/bytes.h"

namespace muster::exec {
namespace {

constexpr size_t kHeadBytes = 5;
constexpr std::string_view kKinds = "ricoesux";
constexpr std::string_view kNumbers = "csux";

}  // namespace

uint32_t Frame::number() const {
  LittleEndianReader reader(bytes);
  const auto number = reader.Take<uint32_t>();
  return reader.IsDone() ? number : 0;
}

std::string FrameBytes(FrameKind kind, std::string_view bytes) {
  return LittleEndianWriter().Put(static_cast<char>(kind)).Text<uint32_t>(bytes).Take();
}

std::string FrameBytes(FrameKind kind, uint32_t number) { return FrameBytes(kind, LengthText(number)); }

std::optional<Frame> FrameReader::Take() {
  if (is_broken_ || in_.size() < kHeadBytes) return std::nullopt;
  const auto size = LittleEndianReader(std::string_view(in_).substr(1)).Take<uint32_t>();
  const bool is_number = kNumbers.find(in_[0]) != std::string_view::npos;
  is_broken_ =
      size > kMaxFrameBytes || kKinds.find(in_[0]) == std::string_view::npos || (is_number && size != sizeof(uint32_t));
  if (is_broken_ || in_.size() - kHeadBytes < size) return std::nullopt;
  Frame frame{static_cast<FrameKind>(in_[0]), in_.substr(kHeadBytes, size)};
  in_.erase(0, kHeadBytes + size);
  return frame;
}

}  // namespace muster::exec
