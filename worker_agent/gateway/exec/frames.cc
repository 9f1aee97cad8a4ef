#include "worker_agent/gateway/exec/frames.h"

#include <cstring>

namespace muster::exec {
namespace {

constexpr size_t kHeadBytes = 5;
constexpr std::string_view kKinds = "ricoesux";
constexpr std::string_view kNumbers = "csux";

}  // namespace

uint32_t Frame::number() const {
  uint32_t number = 0;
  if (bytes.size() == sizeof(number)) std::memcpy(&number, bytes.data(), sizeof(number));
  return number;
}

std::string FrameBytes(FrameKind kind, std::string_view bytes) {
  const auto size = static_cast<uint32_t>(bytes.size());
  std::string out(1, static_cast<char>(kind));
  out.append(reinterpret_cast<const char*>(&size), sizeof(size));
  return out.append(bytes);
}

std::string FrameBytes(FrameKind kind, uint32_t number) {
  return FrameBytes(kind, std::string_view(reinterpret_cast<const char*>(&number), sizeof(number)));
}

std::optional<Frame> FrameReader::Take() {
  if (is_broken_ || in_.size() < kHeadBytes) return std::nullopt;
  uint32_t size = 0;
  std::memcpy(&size, in_.data() + 1, sizeof(size));
  const bool is_number = kNumbers.find(in_[0]) != std::string_view::npos;
  is_broken_ =
      size > kMaxFrameBytes || kKinds.find(in_[0]) == std::string_view::npos || (is_number && size != sizeof(uint32_t));
  if (is_broken_ || in_.size() - kHeadBytes < size) return std::nullopt;
  Frame frame{static_cast<FrameKind>(in_[0]), in_.substr(kHeadBytes, size)};
  in_.erase(0, kHeadBytes + size);
  return frame;
}

}  // namespace muster::exec
