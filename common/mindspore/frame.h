// The frames between a MindSpore process and its scheduler: "RPC0", four lengths (32 bits each, big-endian), then name,
// to, from and body. The name is the message's number in decimal digits. There is no version and no request id: replies
// are matched by their order alone. Sources: MindSpore's public code, and the wire of 2.7.0 and 2.10.0.
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

// Returns a server's reply as MindSpore writes it. `own` is the address that the client dialed, "ip:port": one of `to`
// and `from` must hold an '@', or the receiver drops the message.
Frame MakeReply(uint32_t number, std::string_view own, std::string body);

// Decodes bytes as they come. Holds only bytes that have come: a length in a header makes nothing grow.
class FrameDecoder {
 public:
  void Append(std::string_view bytes) { buffer_.append(bytes); }

  // Returns the next whole frame; std::nullopt if more bytes are needed. An error (not these frames, or beyond
  // kMaxMindSporeStringBytes or kMaxMindSporeBodyBytes) stays, as no later frame has a known beginning.
  absl::StatusOr<std::optional<Frame>> Next();

  // Returns the bytes of a frame that is not whole yet, and of frames that Next has not taken.
  size_t buffered() const { return buffer_.size() - begin_; }

 private:
  void DropTaken();

  std::string buffer_;
  size_t begin_ = 0;  // of the bytes that Next has not taken
};

}  // namespace muster::mindspore
