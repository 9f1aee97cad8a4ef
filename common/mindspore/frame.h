// The frames between a MindSpore process and its scheduler: "RPC0", four lengths (32 bits each, big-endian), then name,
// to, from and body. The name is the message's number in decimal digits. Frames have neither a version nor a request
// id: only their order shows which reply belongs to which request. Sources: MindSpore's public code, and the traffic of
// 2.7.0 and 2.10.0.
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

// Returns a server's reply as MindSpore writes it. `own` is the address that the client connected to, "ip:port". The
// receiver drops a message unless `to` or `from` has an '@'.
Frame MakeReply(uint32_t number, std::string_view own, std::string body);

// Decodes frames from bytes in pieces of any size. It allocates memory only for bytes that have come, never for a
// length that a header announces.
class FrameDecoder {
 public:
  void Append(std::string_view bytes) { buffer_.append(bytes); }

  // Returns the next complete frame; std::nullopt if more bytes are needed. An error means that the bytes are not
  // frames of MindSpore, or that a frame exceeds kMaxMindSporeStringBytes or kMaxMindSporeBodyBytes. After an error
  // every call fails, because it is not known where the next frame begins.
  absl::StatusOr<std::optional<Frame>> Next();

  // Returns how many bytes are kept: of frames that Next has not returned yet, and of an incomplete frame.
  size_t buffered() const { return buffer_.size() - begin_; }

 private:
  void DropTaken();

  std::string buffer_;
  size_t begin_ = 0;  // where the bytes begin that Next has not returned
};

}  // namespace muster::mindspore
