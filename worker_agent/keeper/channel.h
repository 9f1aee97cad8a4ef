// Frames over one end of a stream socket, never blocking. Used by both ends: the agent and its keeper.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "common/unique_fd.h"

namespace muster::agent {

class Channel {
 public:
  explicit Channel(UniqueFd socket) : socket_(std::move(socket)) {}

  int fd() const { return socket_.get(); }

  // Appends a frame (at most kMaxFrameBytes) to what is to be sent, and sends what the socket takes.
  void Send(const std::string& content);
  // Sends what the socket takes.
  void Flush();
  // Bytes that wait for the socket. Once the other end has gone nothing waits any more.
  size_t pending_bytes() const { return outgoing_.size() - sent_; }

  // Appends the frames that have come; at most about 1 MiB a call, so that nobody else starves. False when the other
  // end has gone or spoke nonsense: what came before that has been appended, and nothing will come after it.
  bool Receive(std::vector<std::string>& frames);

 private:
  bool CutFrames(std::vector<std::string>& frames);

  UniqueFd socket_;
  std::string outgoing_;
  size_t sent_ = 0;  // of outgoing_
  std::string incoming_;
  bool can_send_ = true;
};

}  // namespace muster::agent
