// Frames over one end of a stream socket, never blocking. Used by both ends: the agent and its keeper.
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

// sendmsg and recvmsg, not blocking, of bytes and of a descriptor that goes with the first of them (-1: none).
ssize_t SendWithDescriptor(int socket, const void* bytes, size_t size, int descriptor);
// `has_descriptor`: one was sent with the bytes; `descriptor` is not open if it found no place here.
ssize_t ReceiveWithDescriptor(int socket, void* buffer, size_t size, bool& has_descriptor, UniqueFd& descriptor);

class Channel {
 public:
  explicit Channel(UniqueFd socket) : socket_(std::move(socket)) {}

  int fd() const { return socket_.get(); }

  // Appends a frame (at most kMaxFrameBytes) to the outgoing bytes, and sends as much as the socket takes.
  // `descriptor`, if not null, goes with it.
  void Send(const std::string& content, std::shared_ptr<const UniqueFd> descriptor = nullptr);
  // Sends as much as the socket takes.
  void Flush();
  // Bytes that wait for the socket. Once the other end has gone nothing waits any more.
  size_t pending_bytes() const { return outgoing_.size() - sent_; }

  // Appends the frames that have come; at most about 1 MiB a call, so that others get their turn. False when the other
  // end has gone or sent nonsense: what came before that has been appended, and nothing will come after it.
  bool Receive(std::vector<std::string>& frames);
  // The next of the descriptors that have come, in the order of the frames that they came with; null: there is none
  // (it came where no more can be open).
  std::shared_ptr<const UniqueFd> TakeDescriptor();

 private:
  // A descriptor that goes with the byte of that number, counted from the first that was ever sent.
  struct Outgoing {
    uint64_t at = 0;
    std::shared_ptr<const UniqueFd> descriptor;
  };

  ssize_t SendSome();
  bool CutFrames(std::vector<std::string>& frames);

  UniqueFd socket_;
  std::string outgoing_;
  size_t sent_ = 0;  // of outgoing_
  std::string incoming_;
  bool can_send_ = true;
  uint64_t total_sent_ = 0;
  std::deque<Outgoing> outgoing_descriptors_;
  std::deque<UniqueFd> incoming_descriptors_;
};

}  // namespace muster::agent
