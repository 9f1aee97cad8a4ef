// Sends and receives frames (wire.h) over one end of a stream socket, without blocking. The agent, the keeper and the
// keeper's file helpers use it to talk to each other.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <string>
#include <vector>

#include "common/base/unique_fd.h"

namespace muster::agent {

// Calls sendmsg without blocking and returns its result. Sends `descriptor` with the first of the bytes (-1: none).
ssize_t SendWithDescriptor(int socket, const void* bytes, size_t size, int descriptor);
// Calls recvmsg without blocking and returns its result. `has_descriptor`: a descriptor was sent with the bytes.
// `descriptor` receives it; it is not open if this process had no free descriptor number.
ssize_t ReceiveWithDescriptor(int socket, void* buffer, size_t size, bool& has_descriptor, UniqueFd& descriptor);

class Channel {
 public:
  explicit Channel(UniqueFd socket) : socket_(std::move(socket)) {}

  int fd() const { return socket_.get(); }

  // Appends a frame (at most kMaxFrameBytes) to the outgoing bytes, and sends as much as the socket takes.
  // `descriptor`, if not null, goes with the frame.
  void Send(const std::string& content, std::shared_ptr<const UniqueFd> descriptor = nullptr);
  // Sends as much as the socket takes.
  void Flush();
  // Returns how many bytes the socket has not taken yet; 0 once the other end has closed.
  size_t pending_bytes() const { return outgoing_.size() - sent_; }

  // Appends the frames that have arrived to `frames`. Takes at most about 1 MiB in one call, so that the caller can
  // serve its other descriptors. Returns false when the other end has closed or has sent an invalid frame. Even then it
  // appends the valid frames that came before. No more frames come after that.
  bool Receive(std::vector<std::string>& frames);
  // Returns the next received descriptor, in the order of the frames that they were sent with. Null: none has come, or
  // it came when this process had no free descriptor number.
  std::shared_ptr<const UniqueFd> TakeDescriptor();

 private:
  // A descriptor that is sent with byte number `at`, counted from the first byte that this channel ever sent.
  struct Outgoing {
    uint64_t at = 0;
    std::shared_ptr<const UniqueFd> descriptor;
  };

  ssize_t SendSome();
  bool CutFrames(std::vector<std::string>& frames);

  UniqueFd socket_;
  std::string outgoing_;
  size_t sent_ = 0;  // bytes of outgoing_
  std::string incoming_;
  bool can_send_ = true;
  uint64_t total_sent_ = 0;
  std::deque<Outgoing> outgoing_descriptors_;
  std::deque<UniqueFd> incoming_descriptors_;
};

}  // namespace muster::agent
