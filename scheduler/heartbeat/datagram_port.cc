#include "scheduler/heartbeat/datagram_port.h"

#include <poll.h>
#include <pthread.h>
#include <sys/uio.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/base/check.h"
#include "common/base/limits.h"
#include "common/sys/threads.h"

namespace muster::scheduler {
namespace {

// After the first datagram the thread waits this long to collect others, so that one wake-up serves many datagrams. The
// delay does no harm, because an agent does nothing that depends on a prompt answer to a heartbeat.
constexpr int kGatherMs = 10;
constexpr size_t kBatch = 64;
constexpr int kBatchesAtOnce = 16;       // from one socket, before the other sockets have their turn
constexpr int kReceiveBuffer = 4 << 20;  // some seconds of a large cluster's heartbeats; net.core.rmem_max limits it

// Removes the interface from the local address, so that the kernel's routes choose the interface for the answer. A
// link-local address keeps its interface, because it means nothing without it.
void ForgetInterface(cmsghdr& header) {
  if (header.cmsg_level == IPPROTO_IP && header.cmsg_type == IP_PKTINFO) {
    in_pktinfo info;
    std::memcpy(&info, CMSG_DATA(&header), sizeof(info));
    info.ipi_ifindex = 0;
    std::memcpy(CMSG_DATA(&header), &info, sizeof(info));
  } else if (header.cmsg_level == IPPROTO_IPV6 && header.cmsg_type == IPV6_PKTINFO) {
    in6_pktinfo info;
    std::memcpy(&info, CMSG_DATA(&header), sizeof(info));
    if (!IN6_IS_ADDR_LINKLOCAL(&info.ipi6_addr)) info.ipi6_ifindex = 0;
    std::memcpy(CMSG_DATA(&header), &info, sizeof(info));
  }
}

// Returns the progress and the activity in a heartbeat, with no other field; empty if it is malformed.
v1::Report ProgressIn(const std::string& bytes) {
  v1::Report sent;
  v1::Report taken;
  if (bytes.empty() || !sent.ParseFromString(bytes)) return taken;
  taken.set_progress_round(sent.progress_round());
  taken.mutable_progress()->Swap(sent.mutable_progress());
  taken.set_unseen_lines(sent.unseen_lines());
  taken.mutable_activity()->Swap(sent.mutable_activity());
  return taken;
}

}  // namespace

// The buffers that recvmmsg fills.
class DatagramPort::Batch {
 public:
  Batch() {
    for (size_t i = 0; i < kBatch; ++i) pieces_[i] = {bytes_[i].data(), bytes_[i].size()};
  }

  // Receives what waits on `fd`, at most kBatch datagrams. Returns their number.
  size_t Receive(int fd) {
    for (size_t i = 0; i < kBatch; ++i) {
      Way& way = ways_[i];
      msghdr& header = headers_[i].msg_hdr;
      header = {};
      header.msg_name = &way.peer;
      header.msg_namelen = sizeof(way.peer);
      header.msg_iov = &pieces_[i];
      header.msg_iovlen = 1;
      header.msg_control = way.control;
      header.msg_controllen = sizeof(way.control);
    }
    const int count = recvmmsg(fd, headers_.data(), kBatch, MSG_DONTWAIT, nullptr);
    if (count <= 0) return 0;
    for (size_t i = 0; i < static_cast<size_t>(count); ++i) {
      msghdr& header = headers_[i].msg_hdr;
      ways_[i].fd = fd;
      ways_[i].peer_size = header.msg_namelen;
      const bool is_whole = (header.msg_flags & MSG_CTRUNC) == 0;
      cmsghdr* const control = is_whole ? CMSG_FIRSTHDR(&header) : nullptr;
      ways_[i].control_size = control == nullptr ? 0 : CMSG_ALIGN(control->cmsg_len);
      if (control != nullptr) ForgetInterface(*control);
    }
    return static_cast<size_t>(count);
  }

  // A datagram that is too long is cut to one byte more than allowed, so its size still shows that it is wrong.
  std::string_view bytes(size_t i) const { return {bytes_[i].data(), headers_[i].msg_len}; }
  const Way& way(size_t i) const { return ways_[i]; }

 private:
  std::array<std::array<char, HeartbeatDatagram::kBytes + kMaxProgressBytes + 1>, kBatch> bytes_;
  std::array<iovec, kBatch> pieces_;
  std::array<Way, kBatch> ways_;
  std::array<mmsghdr, kBatch> headers_;
};

DatagramPort::DatagramPort(std::vector<UniqueFd> sockets, bool has_secrets, CountedLog& counted)
    : sockets_(std::move(sockets)), has_secrets_(has_secrets), counted_(counted) {
  MUSTER_CHECK(!sockets_.empty() && stop_.is_open(), "there is something to listen on");
  for (const UniqueFd& socket : sockets_) {
    setsockopt(socket.get(), SOL_SOCKET, SO_RCVBUF, &kReceiveBuffer, sizeof(kReceiveBuffer));
  }
}

absl::Status DatagramPort::Start(PostHeartbeat post) {
  post_ = std::move(post);
  absl::StatusOr<std::thread> thread = TryThread([this] { Run(); });
  if (!thread.ok()) return thread.status();
  thread_ = *std::move(thread);
  return absl::OkStatus();
}

void DatagramPort::Stop() {
  if (!thread_.joinable()) return;
  stop_.Wake();
  thread_.join();
}

void DatagramPort::Run() {
  pthread_setname_np(pthread_self(), "ms-datagrams");
  std::vector<pollfd> fds = {{stop_.fd(), POLLIN, 0}};
  for (const UniqueFd& socket : sockets_) fds.push_back({socket.get(), POLLIN, 0});
  const auto batch = std::make_unique<Batch>();
  while (true) {
    poll(fds.data(), fds.size(), -1);
    if (poll(fds.data(), 1, kGatherMs) > 0) return;
    for (const UniqueFd& socket : sockets_) Take(socket.get(), *batch);
  }
}

void DatagramPort::Take(int fd, Batch& batch) {
  std::vector<HeartbeatReceived> heartbeats;
  for (int i = 0; i < kBatchesAtOnce; ++i) {
    const size_t count = batch.Receive(fd);
    heartbeats.clear();
    size_t strange = 0;
    {
      MutexLock lock(mutex_);
      for (size_t k = 0; k < count; ++k) strange += Open(batch.bytes(k), batch.way(k), heartbeats) ? 0 : 1;
    }
    if (strange > 0) {
      counted_.Note(Severity::kWarning, "strange datagram",
                    absl::StrCat("ignored ", strange,
                                 " UDP datagrams that belong to no open stream: they may be from before a restart; if "
                                 "more come, find out what sends UDP to this port"));
    }
    for (HeartbeatReceived& heartbeat : heartbeats) {
      const StreamId stream = heartbeat.stream;
      post_(std::move(heartbeat), [this, stream] { NoteApplied(stream); });
    }
    if (count < kBatch) return;
  }
}

bool DatagramPort::Open(std::string_view bytes, const Way& way, std::vector<HeartbeatReceived>& heartbeats) {
  if (bytes.empty()) return true;  // ms-ctl ping sends an empty one, to see whether something refuses UDP
  const StreamId stream = StreamOfDatagram(bytes);
  if (stream == 0) return false;
  const auto found = senders_.find(stream);
  if (found == senders_.end()) return true;  // the stream may have closed a moment ago
  Sender& sender = found->second;
  const std::optional<HeartbeatDatagram> heartbeat = seal_.OpenHeartbeat(bytes, sender.key);
  if (!heartbeat) return false;
  if (!sender.gate.Take(heartbeat->heartbeat_seq)) return true;
  sender.way = way;
  heartbeats.push_back({stream, heartbeat->heartbeat_seq, heartbeat->armed_fence_ms, ProgressIn(heartbeat->progress)});
  return true;
}

void DatagramPort::NoteApplied(StreamId stream) {
  MutexLock lock(mutex_);
  if (const auto found = senders_.find(stream); found != senders_.end()) found->second.gate.NoteApplied();
}

v1::DatagramOffer DatagramPort::Admit(StreamId stream) {
  const DatagramKey key = DatagramKey::New(has_secrets_);
  {
    MutexLock lock(mutex_);
    senders_[stream].key = key;
  }
  v1::DatagramOffer offer;
  offer.set_stream(stream);
  offer.set_key(key.bytes.data(), key.bytes.size());
  offer.set_is_secret(key.is_secret);
  offer.set_takes_progress(true);
  return offer;
}

void DatagramPort::Forget(StreamId stream) {
  MutexLock lock(mutex_);
  senders_.erase(stream);
}

bool DatagramPort::Answer(StreamId stream, const v1::Acknowledgement& acknowledgement) {
  AnswerDatagram answer;
  answer.stream = stream;
  answer.heartbeat_seq = acknowledgement.heartbeat_seq();
  answer.events_through = acknowledgement.events_through();
  answer.fence_timeout_ms = acknowledgement.fence_timeout_ms();
  answer.heartbeat_interval_ms = acknowledgement.heartbeat_interval_ms();
  Way way;
  std::array<char, AnswerDatagram::kBytes> bytes;
  {
    MutexLock lock(mutex_);
    const auto found = senders_.find(stream);
    if (found == senders_.end() || !found->second.gate.TakeAnswer(answer.heartbeat_seq)) return false;
    way = found->second.way;
    bytes = seal_.Seal(answer, found->second.key);
  }
  iovec piece = {bytes.data(), bytes.size()};
  msghdr header{};
  header.msg_name = &way.peer;
  header.msg_namelen = way.peer_size;
  header.msg_iov = &piece;
  header.msg_iovlen = 1;
  if (way.control_size > 0) {
    header.msg_control = way.control;
    header.msg_controllen = way.control_size;
  }
  sendmsg(way.fd, &header, MSG_DONTWAIT | MSG_NOSIGNAL);
  return true;
}

size_t DatagramPort::size() const {
  MutexLock lock(mutex_);
  return senders_.size();
}

}  // namespace muster::scheduler
