#include "worker_agent/keeper/channel.h"

#include <sys/socket.h>

#include <cerrno>
#include <cstdint>
#include <cstring>

#include "common/check.h"
#include "worker_agent/keeper/wire.h"

namespace muster::agent {
namespace {

constexpr size_t kLengthBytes = 4;
constexpr size_t kMaxBytesPerReceive = 1024 * 1024;

uint32_t ReadLength(const char* bytes) {
  uint32_t length = 0;
  for (size_t i = 0; i < kLengthBytes; ++i) {
    length |= static_cast<uint32_t>(static_cast<unsigned char>(bytes[i])) << (8 * i);
  }
  return length;
}

}  // namespace

void Channel::Send(const std::string& content) {
  MUSTER_CHECK(content.size() <= kMaxFrameBytes, "a frame above the limit");
  if (!can_send_) return;
  for (size_t i = 0; i < kLengthBytes; ++i) {
    outgoing_.push_back(static_cast<char>(static_cast<unsigned char>(content.size() >> (8 * i))));
  }
  outgoing_ += content;
  Flush();
}

void Channel::Flush() {
  while (can_send_ && sent_ < outgoing_.size()) {
    ssize_t n = ::send(fd(), outgoing_.data() + sent_, outgoing_.size() - sent_, MSG_NOSIGNAL | MSG_DONTWAIT);
    if (n > 0) {
      sent_ += static_cast<size_t>(n);
    } else if (errno == EAGAIN || errno == EWOULDBLOCK || errno == ENOBUFS) {
      break;
    } else if (errno != EINTR) {
      can_send_ = false;
      sent_ = outgoing_.size();
    }
  }
  if (sent_ == outgoing_.size() || sent_ > outgoing_.size() / 2) {
    outgoing_.erase(0, sent_);
    sent_ = 0;
  }
}

bool Channel::Receive(std::vector<std::string>& frames) {
  char buffer[64 * 1024];
  for (size_t total = 0; total < kMaxBytesPerReceive;) {
    ssize_t n = ::recv(fd(), buffer, sizeof buffer, MSG_DONTWAIT);
    if (n > 0) {
      total += static_cast<size_t>(n);
      incoming_.append(buffer, static_cast<size_t>(n));
      if (!CutFrames(frames)) return false;
    } else if (n < 0 && errno == EINTR) {
      continue;
    } else if (n < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) {
      return true;
    } else {
      return false;
    }
  }
  return true;
}

bool Channel::CutFrames(std::vector<std::string>& frames) {
  size_t used = 0;
  while (incoming_.size() - used >= kLengthBytes) {
    const size_t length = ReadLength(incoming_.data() + used);
    if (length > kMaxFrameBytes) return false;
    if (incoming_.size() - used - kLengthBytes < length) break;
    frames.push_back(incoming_.substr(used + kLengthBytes, length));
    used += kLengthBytes + length;
  }
  incoming_.erase(0, used);
  return true;
}

}  // namespace muster::agent
