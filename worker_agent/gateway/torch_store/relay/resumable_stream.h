// A stream of bytes in each direction that outlives its connections: each byte arrives once, in order, however often
// the connection is cut and made again. Pure; one thread.
//
// On the wire, little-endian: records of u64 received, u32 size, and `size` bytes. `received` is the number of
// bytes that the record's sender has received so far. The other side keeps all later bytes. Over a new connection it
// sends them again, from the position that the hello, or its answer, gives.
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
  static constexpr size_t kMaxKept = size_t{4} << 20;  // the most unacknowledged bytes

  // Returns how many bytes may be written now. Small texts that must not wait may exceed it.
  size_t room() const { return kept() < kMaxKept ? kMaxKept - kept() : 0; }
  void Write(std::string_view bytes) { buffer_.append(bytes); }
  // Returns the number of bytes that are not acknowledged yet.
  size_t kept() const { return buffer_.size() - at_; }

  // Takes bytes as they come from the connection, in pieces of any size. Calls `take` with the data in the records.
  // After an error, also from `take`, the other side can't be trusted, and the stream is over.
  absl::Status Receive(std::string_view bytes, const std::function<absl::Status(std::string_view)>& take);
  // Appends records of the bytes still to be sent, until `out` has `most` bytes or a little more.
  void Fill(std::string& out, size_t most);
  // Makes the next Fill acknowledge the bytes that have come, even if there is nothing else to send.
  void Acknowledge() { must_acknowledge_ = acknowledged_ != received_; }
  bool has_more() const { return sent_ != base_ + kept() || must_acknowledge_; }

  uint64_t received() const { return received_; }
  // Continues over a new connection. `received_there` is the number of bytes that the other side has received.
  absl::Status Resume(uint64_t received_there);

 private:
  absl::Status TakeHeader();
  absl::Status Confirm(uint64_t received_there);

  std::string buffer_;      // the unacknowledged bytes, from at_ on
  size_t at_ = 0;           // the bytes before it are acknowledged, but not erased yet
  uint64_t base_ = 0;       // the number of the first unacknowledged byte, counted from 0 over the whole stream
  uint64_t sent_ = 0;       // the number after the last byte that was sent over this connection
  uint64_t sent_ever_ = 0;  // like sent_, over all connections

  std::string header_;    // bytes of the next record's header
  size_t in_record_ = 0;  // bytes of the current record that have not come yet
  uint64_t received_ = 0;
  uint64_t acknowledged_ = 0;  // the part of received_ that the other side knows
  bool must_acknowledge_ = false;
};

}  // namespace muster::torch_store
