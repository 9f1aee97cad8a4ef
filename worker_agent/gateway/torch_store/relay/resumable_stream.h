// Bytes in both directions that outlive the connection which carries them: each byte arrives once, in order, however
// often the connection is cut and made anew. Pure; one thread.
//
// On the wire, little-endian: records of u64 received, u32 size, and `size` bytes. `received` is how many bytes of the
// other direction have come, ever; the other side keeps what lies behind that, and sends it again over a new connection
// from where this side says that it is.
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
  static constexpr size_t kMaxKept = size_t{4} << 20;  // what this side writes before the other has to have it

  // How much more may be written now. What is small and must not wait may be written beyond that.
  size_t room() const { return kept() < kMaxKept ? kMaxKept - kept() : 0; }
  void Write(std::string_view bytes) { buffer_.append(bytes); }
  // Not acknowledged yet.
  size_t kept() const { return buffer_.size() - at_; }

  // What came of the connection, cut anywhere; `take` gets the other direction's bytes. An error, also one of `take`'s:
  // the other side is not to be trusted, and nothing goes on.
  absl::Status Receive(std::string_view bytes, const std::function<absl::Status(std::string_view)>& take);
  // Appends records of what is still to be sent, until `out` has `most` bytes or a little more.
  void Fill(std::string& out, size_t most);
  // The next Fill tells what has come, even if it has nothing else to say.
  void Acknowledge() { must_acknowledge_ = acknowledged_ != received_; }
  bool has_more() const { return sent_ != base_ + kept() || must_acknowledge_; }

  uint64_t received() const { return received_; }
  // Over a new connection; the other side has received that many.
  absl::Status Resume(uint64_t received_there);

 private:
  absl::Status TakeHeader();
  absl::Status Confirm(uint64_t received_there);

  std::string buffer_;  // written and not acknowledged, …
  size_t at_ = 0;       // … from here on
  uint64_t base_ = 0;   // of the direction's bytes, the number of the first of them
  uint64_t sent_ = 0;   // over this connection, up to that one …
  uint64_t sent_ever_ = 0;

  std::string header_;    // of a record that is coming
  size_t in_record_ = 0;  // bytes that are still to come of it
  uint64_t received_ = 0;
  uint64_t acknowledged_ = 0;  // of received_, what the other side was told
  bool must_acknowledge_ = false;
};

}  // namespace muster::torch_store
