// Bytes in both directions that outlive their connection: each byte arrives once, in order, no matter how often the
// connection is cut and made again. Pure; one thread.
//
// On the wire, little-endian: records of u64 received, u32 size, and `size` bytes. `received` is the number of the
// other direction's bytes that have come so far. The other side keeps the bytes after that. Over a new connection it
// sends them again from the number that this side gives.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "absl/status/status.h"

namespace muster::torch_store {

class ResumableStream {
 public:
  static constexpr size_t kMaxRecordBytes = 64 * 1024;
  static constexpr size_t kMaxKept = size_t{4} << 20;  // the most that this side writes without an acknowledgement

  // The number of bytes to write now. Small texts that must not wait may exceed it.
  size_t room() const { return kept() < kMaxKept ? kMaxKept - kept() : 0; }
  void Write(std::string_view bytes) { buffer_.append(bytes); }
  // Bytes that are not acknowledged yet.
  size_t kept() const { return buffer_.size() - at_; }

  // Takes bytes of the connection, split anywhere; `take` gets the other direction's bytes. After an error, also one of
  // `take`, the other side can't be trusted, and the stream is over.
  absl::Status Receive(std::string_view bytes, const std::function<absl::Status(std::string_view)>& take);
  // Appends records of the bytes still to be sent, until `out` has `most` bytes or a little more.
  void Fill(std::string& out, size_t most);
  // Makes the next Fill acknowledge what has come, even if it has nothing else to send.
  void Acknowledge() { must_acknowledge_ = acknowledged_ != received_; }
  bool has_more() const { return sent_ != base_ + kept() || must_acknowledge_; }

  uint64_t received() const { return received_; }
  // Continues over a new connection; the other side has received that many bytes.
  absl::Status Resume(uint64_t received_there);

 private:
  absl::Status TakeHeader();
  absl::Status Confirm(uint64_t received_there);

  std::string buffer_;  // written and not acknowledged, …
  size_t at_ = 0;       // … from this position on
  uint64_t base_ = 0;   // the number of the first of these bytes in the direction
  uint64_t sent_ = 0;   // the number up to which this connection has sent
  uint64_t sent_ever_ = 0;

  std::string header_;    // of the next record
  size_t in_record_ = 0;  // bytes of it still to come
  uint64_t received_ = 0;
  uint64_t acknowledged_ = 0;  // the part of received_ that the other side knows
  bool must_acknowledge_ = false;
};

}  // namespace muster::torch_store
