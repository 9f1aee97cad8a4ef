#include "common/mindspore/frame.h"

#include <array>

#include "absl/strings/str_cat.h"
#include "common/base/limits.h"

namespace muster::mindspore {
namespace {

constexpr std::string_view kMagic = "RPC0";
constexpr size_t kHeaderBytes = 20;
constexpr size_t kLengths = 4;  // name, to, from, body
constexpr std::array<const char*, kLengths> kParts = {"name", "to", "from", "body"};

void AppendLength(std::string& out, size_t length) {
  const auto value = static_cast<uint32_t>(length);
  for (const int shift : {24, 16, 8, 0}) out.push_back(static_cast<char>((value >> shift) & 0xff));
}

uint32_t ReadLength(std::string_view bytes) {
  uint32_t value = 0;
  for (const char byte : bytes.substr(0, 4)) value = (value << 8) | static_cast<unsigned char>(byte);
  return value;
}

}  // namespace

std::string EncodeFrame(const Frame& frame) {
  std::string out;
  out.reserve(kHeaderBytes + frame.name.size() + frame.to.size() + frame.from.size() + frame.body.size());
  out.append(kMagic);
  AppendLength(out, frame.name.size());
  AppendLength(out, frame.to.size());
  AppendLength(out, frame.from.size());
  AppendLength(out, frame.body.size());
  absl::StrAppend(&out, frame.name, frame.to, frame.from, frame.body);
  return out;
}

Frame MakeReply(uint32_t number, std::string_view own, std::string body) {
  Frame frame;
  frame.name = std::to_string(number);
  frame.to.append("@").append(own);
  frame.from = "@";
  frame.body = std::move(body);
  return frame;
}

absl::StatusOr<std::optional<Frame>> FrameDecoder::Next() {
  const std::string_view rest = std::string_view(buffer_).substr(begin_);
  const size_t compared = std::min(rest.size(), kMagic.size());
  if (rest.substr(0, compared) != kMagic.substr(0, compared)) {
    return absl::InvalidArgumentError("this is not MindSpore's protocol: its frames begin with RPC0");
  }
  if (rest.size() < kHeaderBytes) return std::optional<Frame>();
  std::array<size_t, kLengths> lengths{};
  size_t total = kHeaderBytes;
  for (size_t i = 0; i < kLengths; ++i) {
    lengths[i] = ReadLength(rest.substr(kMagic.size() + 4 * i));
    const size_t limit = i + 1 < kLengths ? kMaxMindSporeStringBytes : kMaxMindSporeBodyBytes;
    if (lengths[i] > limit) {
      return absl::InvalidArgumentError(absl::StrCat("a frame announces a ", kParts[i], " of ", lengths[i],
                                                     " bytes; at most ", limit, " are allowed"));
    }
    total += lengths[i];
  }
  if (rest.size() < total) return std::optional<Frame>();
  Frame frame;
  size_t at = kHeaderBytes;
  for (size_t i = 0; i < kLengths; ++i) {
    std::string* const parts[] = {&frame.name, &frame.to, &frame.from, &frame.body};
    parts[i]->assign(rest.substr(at, lengths[i]));
    at += lengths[i];
  }
  begin_ += total;
  DropTaken();
  return std::optional<Frame>(std::move(frame));
}

void FrameDecoder::DropTaken() {
  if (begin_ == buffer_.size()) {
    // An idle connection keeps no large buffer.
    if (buffer_.capacity() > 2 * kMaxMindSporeStringBytes) {
      std::string().swap(buffer_);  // an assignment would keep the capacity
    } else {
      buffer_.clear();
    }
    begin_ = 0;
  } else if (begin_ > buffer_.size() / 2) {
    std::string(buffer_, begin_).swap(buffer_);  // frees the bytes of taken frames while the connection is in use
    begin_ = 0;
  }
}

}  // namespace muster::mindspore
