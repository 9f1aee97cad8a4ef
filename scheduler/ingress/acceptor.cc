#include "scheduler/ingress/acceptor.h"

#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <pthread.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/stat.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "common/base/check.h"
#include "common/base/text.h"
#include "common/net/ip_address.h"
#include "common/net/net.h"
#include "common/settings/settings.h"
#include "common/sys/threads.h"
#include "common/tls/peer/tls_fault.h"
#include "scheduler/ingress/first_bytes.h"
#include "scheduler/ingress/peer_facts.h"

namespace muster::scheduler {
namespace {

constexpr int kAcceptBatch = 64;      // then the others get their turn
constexpr int kCrowdedPauseMs = 100;  // how often it looks for connections that have gone while others wait for it
constexpr int kSweepPauseMs = 500;
constexpr int kUnjoinedSweepPauseMs = 5000;

// Which socket a descriptor of this process stands for, without using the descriptor: it may belong to gRPC, which may
// close it at any moment. Nothing if it is closed, or /proc is not there.
std::optional<uint64_t> InodeOf(int fd) {
  std::array<char, 64> link{};
  const ssize_t length = readlink(absl::StrCat("/proc/self/fd/", fd).c_str(), link.data(), link.size());
  absl::string_view text(link.data(), length > 0 ? static_cast<size_t>(length) : 0);
  uint64_t inode = 0;
  if (!absl::ConsumePrefix(&text, "socket:[") || !absl::ConsumeSuffix(&text, "]")) return std::nullopt;
  if (!absl::SimpleAtoi(text, &inode)) return std::nullopt;
  return inode;
}

// Ends a connection that gRPC owns: as if the peer had hung up. A descriptor of our own holds on to what is looked at.
void Break(const SocketRef& socket) {
  const UniqueFd own(fcntl(socket.fd, F_DUPFD_CLOEXEC, 0));
  struct stat info {};
  if (!own.is_open() || !socket.inode.has_value() || fstat(own.get(), &info) != 0) return;
  if (S_ISSOCK(info.st_mode) && info.st_ino == *socket.inode) shutdown(own.get(), SHUT_RDWR);
}

bool HasHungUp(int fd) {
  pollfd look{fd, POLLRDHUP, 0};
  return poll(&look, 1, 0) > 0 && (look.revents & (POLLRDHUP | POLLHUP | POLLERR)) != 0;
}

// gRPC's form of a peer in ours; empty for the Unix socket.
std::string NameOf(const std::string& grpc_peer) {
  const PeerFacts peer = ParsePeer(grpc_peer);
  return peer.is_unix ? "" : JoinHostPort(peer.address, peer.port);
}

std::string PeerName(const sockaddr_storage& peer) {
  std::string bytes;
  uint16_t port = 0;
  if (peer.ss_family == AF_INET6) {
    const auto& v6 = reinterpret_cast<const sockaddr_in6&>(peer);
    bytes.assign(reinterpret_cast<const char*>(&v6.sin6_addr), 16);
    port = ntohs(v6.sin6_port);
  } else {
    const auto& v4 = reinterpret_cast<const sockaddr_in&>(peer);
    bytes.assign(reinterpret_cast<const char*>(&v4.sin_addr), 4);
    port = ntohs(v4.sin_port);
  }
  // Through text, so that an IPv4 address mapped into IPv6 gets the same name as in gRPC's peer.
  const auto address = IpAddress::FromBytes(bytes);
  const auto plain = address.has_value() ? IpAddress::Parse(address->ToString()) : std::nullopt;
  return JoinHostPort(plain.has_value() ? plain->ToString() : "?", port);
}

void WatchFd(int epoll, int operation, int fd, uint32_t events) {
  epoll_event event{};
  event.events = events;
  event.data.fd = fd;
  epoll_ctl(epoll, operation, fd, &event);
}

}  // namespace

Acceptor::Acceptor(std::vector<Listener> listeners, Options options, HandOver hand_over, const Clock& clock,
                   CountedLog& counted)
    : listeners_(std::move(listeners)),
      options_(options),
      hand_over_(std::move(hand_over)),
      clock_(clock),
      counted_(counted),
      epoll_(epoll_create1(EPOLL_CLOEXEC)),
      wake_(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)),
      table_(options.table),
      unjoined_(options.unjoined) {
  MUSTER_CHECK(epoll_.is_open() && wake_.is_open(), "the acceptor needs two descriptors at the start");
}

Acceptor::~Acceptor() { Stop(); }

absl::Status Acceptor::Start() {
  WatchFd(epoll_.get(), EPOLL_CTL_ADD, wake_.get(), EPOLLIN);
  for (const Listener& listener : listeners_) WatchFd(epoll_.get(), EPOLL_CTL_ADD, listener.fd.get(), EPOLLIN);
  is_listening_ = true;
  absl::StatusOr<std::thread> thread = TryThread([this] { Run(); });
  if (!thread.ok()) return thread.status();
  thread_ = *std::move(thread);
  return absl::OkStatus();
}

void Acceptor::Stop() {
  {
    MutexLock lock(mutex_);
    stopping_ = true;
  }
  eventfd_write(wake_.get(), 1);
  if (thread_.joinable()) thread_.join();
  listeners_.clear();
}

void Acceptor::NoteCall(const std::string& grpc_peer) {
  const std::string peer = NameOf(grpc_peer);
  if (peer.empty()) return;
  const MonotonicTime now = clock_.Read().monotonic;
  bool should_wake = false;
  std::optional<PeerSocket> crowded_out;
  {
    MutexLock lock(mutex_);
    if (const auto socket = table_.NoteCall(peer)) {
      should_wake = table_.HasNext();
      crowded_out = unjoined_.Add(peer, *socket, now);
    } else {
      unjoined_.NoteCall(peer, now);
    }
  }
  if (should_wake) eventfd_write(wake_.get(), 1);
  if (crowded_out.has_value()) BreakOneTooMany(*crowded_out);
}

void Acceptor::NoteJoined(const std::string& grpc_peer) {
  const std::string peer = NameOf(grpc_peer);
  MutexLock lock(mutex_);
  unjoined_.NoteJoined(peer);
}

void Acceptor::NoteLeft(const std::string& grpc_peer) {
  const std::string peer = NameOf(grpc_peer);
  const MonotonicTime now = clock_.Read().monotonic;
  MutexLock lock(mutex_);
  unjoined_.NoteLeft(peer, now);
}

void Acceptor::Run() {
  pthread_setname_np(pthread_self(), "ms-acceptor");
  std::array<epoll_event, 128> events{};
  while (true) {
    const int count = epoll_wait(epoll_.get(), events.data(), static_cast<int>(events.size()), NextTimeoutMs());
    {
      MutexLock lock(mutex_);
      if (stopping_) break;
    }
    for (int i = 0; i < count; ++i) {
      const int fd = events[static_cast<size_t>(i)].data.fd;
      eventfd_t ignored;
      if (fd == wake_.get()) {
        eventfd_read(fd, &ignored);
        continue;
      }
      bool is_listener = false;
      for (const Listener& listener : listeners_) {
        if (listener.fd.get() != fd) continue;
        is_listener = true;
        AcceptSome(listener);
      }
      if (is_listener) continue;
      std::optional<std::string> peer;
      {
        MutexLock lock(mutex_);
        peer = table_.TakeSilent(fd);
      }
      if (peer.has_value()) Look(UniqueFd(fd), *peer, false);
    }
    DropOverdue();
    Sweep();
    SweepUnjoined();
    HandOverSome();
    SetListening(HasDescriptor());
  }
  MutexLock lock(mutex_);
  for (const int fd : table_.TakeAllOwn()) close(fd);
}

int Acceptor::NextTimeoutMs() {
  if (!is_listening_) return kCrowdedPauseMs;
  MutexLock lock(mutex_);
  if (table_.IsFull()) return kCrowdedPauseMs;
  return table_.empty() ? kUnjoinedSweepPauseMs : kSweepPauseMs;
}

bool Acceptor::HasDescriptor() {
  const bool has_descriptor = HasDescriptorBelow(options_.descriptor_bound);
  if (!has_descriptor && is_listening_) {
    counted_.Note(Severity::kWarning, "no descriptors",
                  absl::StrCat("the limit of open files leaves no room for more connections; they wait. Raise it: "
                               "ulimit -n, or LimitNOFILE= of the service (connections may use ",
                               options_.descriptor_bound, " now)"));
  }
  return has_descriptor;
}

void Acceptor::SetListening(bool wanted) {
  if (wanted == is_listening_) return;
  is_listening_ = wanted;
  for (const Listener& listener : listeners_) {
    WatchFd(epoll_.get(), EPOLL_CTL_MOD, listener.fd.get(), wanted ? uint32_t{EPOLLIN} : 0);
  }
}

void Acceptor::AcceptSome(const Listener& listener) {
  for (int i = 0; i < kAcceptBatch; ++i) {
    if (!HasDescriptor()) {
      SetListening(false);
      return;
    }
    sockaddr_storage peer{};
    socklen_t length = sizeof(peer);
    UniqueFd fd(accept4(listener.fd.get(), reinterpret_cast<sockaddr*>(&peer), &length, SOCK_CLOEXEC | SOCK_NONBLOCK));
    if (fd.is_open()) {
      Take(listener, std::move(fd), listener.is_unix ? "" : PeerName(peer));
      continue;
    }
    if (errno == EMFILE || errno == ENFILE || errno == ENOMEM || errno == ENOBUFS) {
      counted_.Note(Severity::kWarning, "accept failed",
                    absl::StrCat("can't accept connections now: ", std::strerror(errno), "; they wait"));
      SetListening(false);  // until the next look, after a pause
      return;
    }
    if (errno != ECONNABORTED && errno != EINTR) return;  // EAGAIN: the queue is empty
  }
}

void Acceptor::Take(const Listener& listener, UniqueFd fd, const std::string& peer) {
  if (listener.is_unix) {
    hand_over_(fd.release(), true);
    return;
  }
  const int on = 1;
  setsockopt(fd.get(), IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
  SetDeadPeerDetection(fd.get());
  Look(std::move(fd), peer, true);
}

void Acceptor::Look(UniqueFd fd, const std::string& peer, bool is_new) {
  std::string bytes(kFirstBytesWanted, '\0');
  const ssize_t got = recv(fd.get(), bytes.data(), bytes.size(), MSG_PEEK | MSG_DONTWAIT);
  if (got < 0 && (errno == EAGAIN || errno == EINTR)) return KeepSilent(std::move(fd), peer, is_new);
  if (got <= 0) {
    counted_.Note(Severity::kDebug, "hung up at once", absl::StrCat(peer, " connected and hung up without a word"));
    return;
  }
  bytes.resize(static_cast<size_t>(got));
  const FirstBytes kind = Classify(bytes);
  if (kind != (options_.expects_tls ? FirstBytes::kTls : FirstBytes::kHttp2)) {
    const std::string why = kind == FirstBytes::kTls     ? "speaks TLS, this scheduler plain text"
                            : kind == FirstBytes::kHttp2 ? "speaks plain text, this scheduler TLS"
                                                         : absl::StrCat("speaks no gRPC: ", Quoted(bytes));
    counted_.Note(Severity::kWarning, options_.expects_tls ? FaultName(TlsFault::kPlaintext) : "foreign protocol",
                  absl::StrCat("dropped a connection: ", peer, " ", why));
    return;
  }
  if (!is_new) WatchFd(epoll_.get(), EPOLL_CTL_DEL, fd.get(), 0);
  std::optional<FairQueue::Waiting> crowded_out;
  {
    MutexLock lock(mutex_);
    crowded_out = table_.AddWaiting(fd.release(), peer);
  }
  if (crowded_out.has_value()) {
    const UniqueFd dropped(crowded_out->fd);
    counted_.Note(Severity::kWarning, "crowded out while waiting",
                  absl::StrCat("dropped a connection of ", crowded_out->peer, ": ", options_.table.most_waiting,
                               " wait for their turn, and most of them come from its address"));
  }
  HandOverSome();
}

void Acceptor::HandOverSome() {
  while (true) {
    UniqueFd fd;
    std::string peer;
    {
      MutexLock lock(mutex_);
      std::optional<FairQueue::Waiting> next = table_.TakeNext();
      if (!next.has_value()) return;
      fd = UniqueFd(next->fd);
      peer = std::move(next->peer);
      if (HasHungUp(fd.get())) {
        fd.reset();
      } else {
        table_.AddHandedOver(fd.get(), InodeOf(fd.get()), peer, clock_.Read().monotonic);
      }
    }
    if (fd.is_open()) {
      hand_over_(fd.release(), false);
    } else {
      counted_.Note(Severity::kDebug, "hung up while waiting", absl::StrCat(peer, " hung up before its turn came"));
    }
  }
}

void Acceptor::KeepSilent(UniqueFd fd, const std::string& peer, bool is_new) {
  if (is_new) WatchFd(epoll_.get(), EPOLL_CTL_ADD, fd.get(), EPOLLIN | EPOLLRDHUP);
  std::optional<ConnectionTable::Silent> crowded_out;
  {
    MutexLock lock(mutex_);
    crowded_out = table_.AddSilent(fd.release(), peer, clock_.Read().monotonic);
  }
  if (crowded_out.has_value()) DropIdle(*crowded_out);
}

void Acceptor::DropIdle(const ConnectionTable::Silent& silent) {
  const UniqueFd fd(silent.fd);
  counted_.Note(Severity::kWarning, "idle connection",
                absl::StrCat("dropped an idle connection: ", silent.peer, " connected and said nothing for ",
                             FormatDuration(absl::Trunc(silent.age, absl::Milliseconds(100)))));
}

void Acceptor::DropOverdue() {
  std::vector<ConnectionTable::Silent> overdue;
  {
    MutexLock lock(mutex_);
    overdue = table_.TakeOverdue(clock_.Read().monotonic, !is_listening_);
  }
  for (const ConnectionTable::Silent& silent : overdue) DropIdle(silent);
}

void Acceptor::Sweep() {
  const MonotonicTime now = clock_.Read().monotonic;
  if (now - last_sweep_ < absl::Milliseconds(kCrowdedPauseMs)) return;  // it looks at every descriptor
  last_sweep_ = now;
  ConnectionTable::Swept swept;
  std::vector<PeerSocket> crowded_out;
  {
    MutexLock lock(mutex_);
    swept = table_.Sweep(now, InodeOf);
    for (const PeerSocket& mute : swept.mute) {
      if (auto first = unjoined_.Add(mute.peer, mute.socket, now)) crowded_out.push_back(*std::move(first));
    }
  }
  for (const std::string& peer : swept.closed) {
    counted_.Note(Severity::kInfo, "ended without a call",
                  absl::StrCat("the connection of ", peer, " ended before it made a call"));
  }
  for (const PeerSocket& mute : swept.mute) {
    counted_.Note(
        Severity::kWarning, "mute connection",
        absl::StrCat(mute.peer, " connected and made no call for ", FormatDuration(options_.table.call_limit)));
  }
  for (const PeerSocket& unjoined : crowded_out) BreakOneTooMany(unjoined);
}

void Acceptor::BreakOneTooMany(const PeerSocket& unjoined) {
  counted_.Note(
      Severity::kWarning, "crowded out connection",
      absl::StrCat("breaking the connection of ", unjoined.peer, ", which has not joined: too many are open"));
  Break(unjoined.socket);  // who sees it finds the count
}

void Acceptor::SweepUnjoined() {
  const MonotonicTime now = clock_.Read().monotonic;
  if (now - last_unjoined_sweep_ < absl::Milliseconds(kUnjoinedSweepPauseMs)) return;
  last_unjoined_sweep_ = now;
  std::vector<PeerSocket> overdue;
  {
    MutexLock lock(mutex_);
    overdue = unjoined_.Sweep(now, InodeOf);
  }
  for (const auto& [peer, socket] : overdue) {
    counted_.Note(Severity::kInfo, "calm connection",
                  absl::StrCat("breaking the connection of ", peer, ", which has not joined and made no new call for ",
                               FormatDuration(options_.unjoined.calm_limit)));
    Break(socket);
  }
}

}  // namespace muster::scheduler
