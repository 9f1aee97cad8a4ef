// The frames between a MindSpore process and its scheduler: "RPC0", four lengths (32 bits each, big-endian), then name,
// to, from and body. The name is the message's number in decimal digits. There is no version and no request id: replies
// are matched by their order alone. Found in MindSpore's public sources, and on the wire of 2.7.0 and 2.10.0.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"

namespace muster::mindspore {

struct Frame {
  std::string name;
  std::string to;
  std::string from;
  std::string body;
};

std::string EncodeFrame(const Frame& frame);

// A server's reply as MindSpore writes it. `own` is the address that the client dialed, "ip:port": one of `to` and
// `from` must hold an '@', or the receiver drops the message.
Frame MakeReply(uint32_t number, std::string_view own, std::string body);

// Takes bytes as they come. Holds only what has come: a length in a header makes nothing grow.
class FrameDecoder {
 public:
  void Append(std::string_view bytes) { buffer_.append(bytes); }

  // The next whole frame; std::nullopt: more bytes are needed. An error (not these frames, or beyond
  // kMaxMindSporeStringBytes or kMaxMindSporeBodyBytes) stays: nothing that follows has a known beginning.
  absl::StatusOr<std::optional<Frame>> Next();

  // Bytes of a frame that is not whole yet, or of frames that were not asked for.
  size_t buffered() const { return buffer_.size() - begin_; }

 private:
  void DropTaken();

  std::string buffer_;
  size_t begin_ = 0;  // of what has not been taken
};

}  // namespace muster::mindspore
