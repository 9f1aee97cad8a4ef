#include "worker_agent/keeper/channel.h"

#include <sys/socket.h>
#include <sys/uio.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <optional>
#include <string_view>
#include <utility>

#include "common/base/bytes.h"
#include "common/base/check.h"
#include "worker_agent/keeper/wire.h"

namespace muster::agent {
namespace {

constexpr size_t kMaxBytesPerReceive = 1024 * 1024;

}  // namespace

ssize_t SendWithDescriptor(int socket, const void* bytes, size_t size, int descriptor) {
  iovec part{const_cast<void*>(bytes), size};
  msghdr message{};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int))] = {};
  if (descriptor >= 0) {
    message.msg_control = control;
    message.msg_controllen = sizeof control;
    cmsghdr* header = CMSG_FIRSTHDR(&message);
    header->cmsg_level = SOL_SOCKET;
    header->cmsg_type = SCM_RIGHTS;
    header->cmsg_len = CMSG_LEN(sizeof(int));
    std::memcpy(CMSG_DATA(header), &descriptor, sizeof descriptor);
  }
  return ::sendmsg(socket, &message, MSG_NOSIGNAL | MSG_DONTWAIT);
}

ssize_t ReceiveWithDescriptor(int socket, void* buffer, size_t size, bool& has_descriptor, UniqueFd& descriptor) {
  iovec part{buffer, size};
  msghdr message{};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int))] = {};
  message.msg_control = control;
  message.msg_controllen = sizeof control;
  const ssize_t n = ::recvmsg(socket, &message, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
  has_descriptor = false;
  if (n <= 0) return n;
  const cmsghdr* header = CMSG_FIRSTHDR(&message);
  int received = -1;
  if (header != nullptr && header->cmsg_level == SOL_SOCKET && header->cmsg_type == SCM_RIGHTS &&
      header->cmsg_len == CMSG_LEN(sizeof(int))) {
    std::memcpy(&received, CMSG_DATA(header), sizeof received);
  }
  has_descriptor = received >= 0 || (message.msg_flags & MSG_CTRUNC) != 0;
  descriptor.reset(received);
  return n;
}

void Channel::Send(const std::string& content, std::shared_ptr<const UniqueFd> descriptor) {
  MUSTER_CHECK(content.size() <= kMaxFrameBytes, "a frame above the limit");
  if (!can_send_) return;
  if (descriptor != nullptr) outgoing_descriptors_.push_back({total_sent_ + pending_bytes(), std::move(descriptor)});
  outgoing_ += LengthText(content.size());
  outgoing_ += content;
  Flush();
}

void Channel::Flush() {
  while (can_send_ && sent_ < outgoing_.size()) {
    const ssize_t n = SendSome();
    if (n > 0) {
      sent_ += static_cast<size_t>(n);
      total_sent_ += static_cast<uint64_t>(n);
    } else if (errno == EAGAIN || errno == EWOULDBLOCK || errno == ENOBUFS || errno == ETOOMANYREFS) {
      // ETOOMANYREFS: this user has as many descriptors in flight as a process may hold open. A later call tries again.
      break;
    } else if (errno != EINTR) {
      can_send_ = false;
      sent_ = outgoing_.size();
      outgoing_descriptors_.clear();
    }
  }
  if (sent_ == outgoing_.size() || sent_ > outgoing_.size() / 2) {
    outgoing_.erase(0, sent_);
    sent_ = 0;
  }
}

// Sends the bytes up to the next one that carries a descriptor. That byte begins a call of its own, because sendmsg
// attaches a descriptor to the first byte.
ssize_t Channel::SendSome() {
  size_t size = outgoing_.size() - sent_;
  size_t with = 0;  // how many descriptors go with this call: none or one
  if (!outgoing_descriptors_.empty() && outgoing_descriptors_.front().at == total_sent_) with = 1;
  if (outgoing_descriptors_.size() > with) {
    size = std::min<uint64_t>(size, outgoing_descriptors_[with].at - total_sent_);
  }
  const int descriptor = with == 0 ? -1 : outgoing_descriptors_.front().descriptor->get();
  const ssize_t n = SendWithDescriptor(fd(), outgoing_.data() + sent_, size, descriptor);
  if (n > 0 && with != 0) outgoing_descriptors_.pop_front();
  return n;
}

std::shared_ptr<const UniqueFd> Channel::TakeDescriptor() {
  if (incoming_descriptors_.empty()) return nullptr;
  UniqueFd next = std::move(incoming_descriptors_.front());
  incoming_descriptors_.pop_front();
  return next.is_open() ? std::make_shared<const UniqueFd>(std::move(next)) : nullptr;
}

bool Channel::Receive(std::vector<std::string>& frames) {
  char buffer[64 * 1024];
  for (size_t total = 0; total < kMaxBytesPerReceive;) {
    bool has_descriptor = false;
    UniqueFd descriptor;
    const ssize_t n = ReceiveWithDescriptor(fd(), buffer, sizeof buffer, has_descriptor, descriptor);
    // Queued even if it got no free number (it is empty then): otherwise a later frame would lose its own descriptor.
    if (n > 0 && has_descriptor) incoming_descriptors_.push_back(std::move(descriptor));
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
  std::string_view rest = incoming_;
  while (const std::optional<size_t> length = TakeLength(rest)) {
    if (*length > kMaxFrameBytes) return false;
    if (rest.size() < *length) break;
    frames.emplace_back(rest.substr(0, *length));
    rest.remove_prefix(*length);
    used = incoming_.size() - rest.size();
  }
  incoming_.erase(0, used);
  return true;
}

}  // namespace muster::agent
