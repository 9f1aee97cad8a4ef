#include "scheduler/ingress/acceptor.h"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <pthread.h>
#include <sys/epoll.h>
#include <sys/socket.h>

#include <cerrno>
#include <cstring>
#include <span>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/base/text.h"
#include "common/net/http2/connection_name.h"
#include "common/net/ip_address.h"
#include "common/net/net.h"
#include "common/sys/threads.h"
#include "common/sys/wait.h"
#include "common/tls/peer/tls_fault.h"
#include "scheduler/ingress/first_bytes.h"

namespace muster::scheduler {
namespace {

constexpr int kAcceptBatch = 64;  // from one listener, before the other listeners have their turn
// While connections wait for a descriptor or for a place in gRPC: how often to check whether one has become free.
constexpr absl::Duration kCrowdedPause = absl::Milliseconds(100);
constexpr absl::Duration kBusyTime = absl::Seconds(1);  // if memory is scarce, a call protects a connection this long
constexpr absl::Duration kSweepPause = absl::Milliseconds(500);
constexpr absl::Duration kUnjoinedSweepPause = absl::Seconds(5);

bool HasHungUp(int fd) { return (LookAt(fd, POLLRDHUP) & (POLLRDHUP | POLLHUP | POLLERR)) != 0; }

uint64_t KeyOf(int fd) { return static_cast<uint64_t>(fd); }

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
  // Format it as text first, so that an IPv4 address mapped into IPv6 gets the same name as in gRPC's peer.
  const auto address = IpAddress::FromBytes(bytes);
  const auto plain = address.has_value() ? IpAddress::Parse(address->ToString()) : std::nullopt;
  return JoinHostPort(plain.has_value() ? plain->ToString() : "?", port);
}

}  // namespace

Acceptor::Acceptor(std::vector<Listener> listeners, Options options, Hooks hooks, const Clock& clock,
                   CountedLog& counted)
    : listeners_(std::move(listeners)),
      options_(options),
      hooks_(std::move(hooks)),
      clock_(clock),
      counted_(counted),
      table_(options.table),
      unjoined_(options.unjoined) {}

Acceptor::~Acceptor() { Stop(); }

absl::Status Acceptor::Start() {
  if (!poller_.status().ok()) return poller_.status();
  for (const Listener& listener : listeners_) {
    if (absl::Status watched = poller_.Add(listener.fd.get(), EPOLLIN, KeyOf(listener.fd.get())); !watched.ok()) {
      return watched;
    }
  }
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
  poller_.Wake();
  if (thread_.joinable()) thread_.join();
  listeners_.clear();
}

void Acceptor::NoteCall(uint64_t id) {
  const MonotonicTime now = clock_.Read().monotonic;
  bool should_wake = false;
  std::optional<NamedConnection> crowded_out;
  {
    MutexLock lock(mutex_);
    if (std::optional<std::string> peer = table_.NoteCall(id)) {
      should_wake = table_.HasNext();
      crowded_out = unjoined_.Add({id, *std::move(peer)}, now);
    } else {
      unjoined_.NoteCall(id, now);
    }
  }
  if (should_wake) poller_.Wake();
  if (crowded_out.has_value()) CutOneTooMany(*crowded_out);
}

void Acceptor::NoteJoined(uint64_t id) {
  MutexLock lock(mutex_);
  unjoined_.NoteJoined(id);
}

void Acceptor::NoteLeft(uint64_t id) {
  const MonotonicTime now = clock_.Read().monotonic;
  MutexLock lock(mutex_);
  unjoined_.NoteLeft(id, now);
}

void Acceptor::NoteClosed(uint64_t id) {
  std::optional<std::string> without_call;
  bool should_wake = false;
  {
    MutexLock lock(mutex_);
    without_call = table_.NoteClosed(id);
    should_wake = without_call.has_value() && table_.HasNext();
    unjoined_.NoteClosed(id);
  }
  if (should_wake) poller_.Wake();
  if (without_call.has_value()) {
    counted_.Note(Severity::kInfo, "ended without a call",
                  absl::StrCat("the connection of ", *without_call, " ended before it made a call"));
  }
}

void Acceptor::Run() {
  pthread_setname_np(pthread_self(), "ms-acceptor");
  while (true) {
    const std::span<const epoll_event> events = poller_.Wait(Patience());
    {
      MutexLock lock(mutex_);
      if (stopping_) break;
    }
    for (const epoll_event& event : events) {
      const int fd = static_cast<int>(event.data.u64);
      bool is_listener = false;
      for (const Listener& listener : listeners_) {
        if (listener.fd.get() != fd) continue;
        is_listener = true;
        AcceptSome(listener);
      }
      if (is_listener) continue;
      // Stays empty if an earlier event of this batch has dropped the connection.
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

absl::Duration Acceptor::Patience() {
  if (!is_listening_) return kCrowdedPause;
  MutexLock lock(mutex_);
  if (table_.IsFull()) return kCrowdedPause;
  return table_.empty() ? kUnjoinedSweepPause : kSweepPause;
}

bool Acceptor::HasDescriptor() {
  const bool has_descriptor = HasDescriptorBelow(options_.descriptor_bound);
  if (!has_descriptor && is_listening_) {
    counted_.Note(Severity::kWarning, "no descriptors",
                  absl::StrCat("the limit of open files leaves no room for more connections; new ones wait. Raise it: "
                               "ulimit -n, or LimitNOFILE= of the service (connections may use ",
                               options_.descriptor_bound, " now)"));
  }
  return has_descriptor;
}

void Acceptor::SetListening(bool wanted) {
  if (wanted == is_listening_) return;
  is_listening_ = wanted;
  for (const Listener& listener : listeners_) {
    // The poller is level-triggered: a listener with waiting connections would end each Wait at once.
    poller_.Modify(listener.fd.get(), wanted ? uint32_t{EPOLLIN} : 0, KeyOf(listener.fd.get())).IgnoreError();
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
      SetListening(false);  // until Run checks again, after a pause
      return;
    }
    if (errno != ECONNABORTED && errno != EINTR) return;  // EAGAIN: the queue is empty
  }
}

void Acceptor::Take(const Listener& listener, UniqueFd fd, const std::string& peer) {
  if (listener.is_unix) {
    hooks_.hand_over_unix(std::move(fd));
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
  if (got <= 0) return;  // closed without a byte: a probe of the port, such as ms-ctl ping's or a load balancer's
  bytes.resize(static_cast<size_t>(got));
  const FirstBytes kind = Classify(bytes);
  if (kind != (options_.expects_tls ? FirstBytes::kTls : FirstBytes::kHttp2)) {
    const std::string why = kind == FirstBytes::kTls     ? "speaks TLS, but this scheduler expects plain text"
                            : kind == FirstBytes::kHttp2 ? "speaks plain text, but this scheduler expects TLS"
                                                         : absl::StrCat("speaks no gRPC: ", Quoted(bytes));
    counted_.Note(Severity::kWarning, options_.expects_tls ? FaultName(TlsFault::kPlaintext) : "foreign protocol",
                  absl::StrCat("dropped a connection: ", peer, " ", why));
    return;
  }
  if (!is_new) poller_.Remove(fd.get());
  std::optional<FairQueue::Waiting> crowded_out;
  {
    MutexLock lock(mutex_);
    crowded_out = table_.AddWaiting(fd.release(), peer);
  }
  if (crowded_out.has_value()) {
    const UniqueFd dropped(crowded_out->fd);
    counted_.Note(Severity::kWarning, "crowded out while waiting",
                  absl::StrCat("dropped a connection of ", crowded_out->peer, ": ", options_.table.most_waiting,
                               " connections wait for their turn, and most of them come from its address"));
  }
  HandOverSome();
}

void Acceptor::HandOverSome() {
  while (true) {
    UniqueFd fd;
    NamedConnection next{NewConnection(), ""};
    bool has_hung_up = false;
    {
      MutexLock lock(mutex_);
      std::optional<FairQueue::Waiting> waiting = table_.TakeNext();
      if (!waiting.has_value()) return;
      fd = UniqueFd(waiting->fd);
      next.peer = std::move(waiting->peer);
      has_hung_up = HasHungUp(fd.get());
      // Do this before the hand-over: right after it a thread of gRPC may call NoteCall.
      if (!has_hung_up) table_.AddHandedOver(next, clock_.Read().monotonic);
    }
    if (!has_hung_up) {
      hooks_.hand_over(std::move(next), std::move(fd));
    } else {
      counted_.Note(Severity::kDebug, "hung up while waiting",
                    absl::StrCat(next.peer, " hung up before its turn came"));
    }
  }
}

void Acceptor::KeepSilent(UniqueFd fd, const std::string& peer, bool is_new) {
  // (If the poller can't watch the connection, DropOverdue drops it later.)
  if (is_new) poller_.Add(fd.get(), EPOLLIN | EPOLLRDHUP, KeyOf(fd.get())).IgnoreError();
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
                absl::StrCat("dropped an idle connection: ", silent.peer, " connected and sent nothing for ",
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
  if (now - last_sweep_ < kCrowdedPause) return;
  last_sweep_ = now;
  std::vector<NamedConnection> mute, crowded_out;
  {
    MutexLock lock(mutex_);
    mute = table_.TakeMute(now);
    for (const NamedConnection& one : mute) {
      if (auto first = unjoined_.Add(one, now)) crowded_out.push_back(*std::move(first));
    }
  }
  for (const NamedConnection& one : mute) {
    counted_.Note(
        Severity::kWarning, "mute connection",
        absl::StrCat(one.peer, " connected and made no call for ", FormatDuration(options_.table.call_limit)));
  }
  for (const NamedConnection& unjoined : crowded_out) CutOneTooMany(unjoined);
}

void Acceptor::Shed() {
  const MonotonicTime now = clock_.Read().monotonic;
  std::vector<NamedConnection> shed;
  {
    MutexLock lock(mutex_);
    shed = table_.TakeMute(now, kBusyTime);
    for (NamedConnection& one : unjoined_.TakeCalm(now, kBusyTime)) shed.push_back(std::move(one));
  }
  for (const NamedConnection& one : shed) {
    counted_.Note(Severity::kWarning, "short of memory",
                  absl::StrCat("closing the connection of ", one.peer,
                               ", which has not joined: half of the memory for connections is used"));
    hooks_.cut(one.id);
  }
}

void Acceptor::CutOneTooMany(const NamedConnection& unjoined) {
  counted_.Note(Severity::kWarning, "crowded out connection",
                absl::StrCat("closing the connection of ", unjoined.peer, ", which has not joined: too many are open"));
  hooks_.cut(unjoined.id);  // after the count, so that a client that sees the cut also sees it counted
}

void Acceptor::SweepUnjoined() {
  const MonotonicTime now = clock_.Read().monotonic;
  if (now - last_unjoined_sweep_ < kUnjoinedSweepPause) return;
  last_unjoined_sweep_ = now;
  std::vector<NamedConnection> overdue;
  {
    MutexLock lock(mutex_);
    overdue = unjoined_.TakeOverdue(now);
  }
  for (const NamedConnection& one : overdue) {
    counted_.Note(
        Severity::kInfo, "calm connection",
        absl::StrCat("closing the connection of ", one.peer, ", which has not joined and made no new call for ",
                     FormatDuration(options_.unjoined.calm_limit)));
    hooks_.cut(one.id);
  }
}

}  // namespace muster::scheduler
