#include "common/net/http2/relay.h"

#include <pthread.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/un.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cerrno>
#include <cstddef>
#include <cstring>
#include <optional>
#include <span>
#include <thread>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/base/mutex.h"
#include "common/net/http2/connection_name.h"
#include "common/net/poller.h"
#include "common/sys/threads.h"

namespace muster {
namespace {

constexpr int kPairBytes = 64 * 1024;  // the buffer of each socket; the kernel doubles it
constexpr size_t kEventsAtOnce = 256;
constexpr absl::Duration kTick =
    absl::Milliseconds(50);  // how often a thread looks for connections past a time limit, and for pauses that are over
constexpr uint32_t kEvents = EPOLLIN | EPOLLRDHUP | EPOLLET;

// Binds a socket to a name in Linux's abstract namespace.
bool BindAbstract(int fd, const std::string& name) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (name.size() + 1 > sizeof(address.sun_path)) return false;
  std::memcpy(address.sun_path + 1, name.data(), name.size());
  const auto length = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + name.size());
  return bind(fd, reinterpret_cast<const sockaddr*>(&address), length) == 0;
}

struct Pair {
  UniqueFd relay, grpc;
};

absl::StatusOr<Pair> MakePair(uint64_t id) {
  std::array<int, 2> ends{-1, -1};
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, ends.data()) != 0) {
    return absl::ResourceExhaustedError(
        absl::StrCat("no two descriptors are left for a connection: ", std::strerror(errno)));
  }
  Pair pair{UniqueFd(ends[0]), UniqueFd(ends[1])};
  if (!BindAbstract(ends[0], SocketNameOf(id))) {
    return absl::UnavailableError(
        absl::StrCat("the socket of a connection can't get its name: ", std::strerror(errno)));
  }
  // The kernel limits a Unix socket by its sender's buffer: SO_RCVBUF has no effect (unix(7)).
  for (const int end : ends) setsockopt(end, SOL_SOCKET, SO_SNDBUF, &kPairBytes, sizeof(kPairBytes));
  return pair;
}

}  // namespace

class Relay::Thread {
 public:
  Thread(const Options& options, const Hooks& hooks, const Clock& clock)
      : handshake_limit_(options.handshake_limit),
        hooks_(hooks),
        clock_(clock),
        scratch_(RelayedConnection::kPieceBytes, '\0') {}

  absl::Status Start() {
    if (!poller_.status().ok()) return poller_.status();
    absl::StatusOr<std::thread> thread = TryThread([this] { Run(); });
    if (!thread.ok()) return thread.status();
    thread_ = *std::move(thread);
    return absl::OkStatus();
  }

  void Stop() {
    {
      MutexLock lock(mutex_);
      is_stopping_ = true;
    }
    poller_.Wake();
    if (thread_.joinable()) thread_.join();
    MutexLock lock(mutex_);
    connections_.clear();
  }

  void Add(uint64_t id, UniqueFd client, std::shared_ptr<const TlsServerContext> tls) {
    const bool is_plain = tls == nullptr;
    auto connection =
        std::make_unique<RelayedConnection>(id, std::move(client), std::move(tls), clock_.Read().monotonic);
    RelayedConnection& added = *connection;
    int inner = -1;
    if (is_plain) {
      inner = Open(added);
      if (inner < 0) return Close(std::move(connection));
    }
    MutexLock lock(mutex_);
    if (is_stopping_) return;
    connections_.emplace(id, std::move(connection));
    absl::Status watched;
    if (inner >= 0) watched = Watch(added, inner, kInner);
    if (watched.ok()) watched = Watch(added, added.client_fd(), kClient);
    if (watched.ok()) return;
    // One of the two sockets may already be watched, so only the relay's thread may end the connection now.
    unwatched_.emplace_back(id, std::string(watched.message()));
    poller_.Wake();
  }

  void Cut(uint64_t id) {
    MutexLock lock(mutex_);
    const auto found = connections_.find(id);
    // Don't close it: the relay's thread may be using the descriptor. After the shutdown that thread sees the end.
    if (found != connections_.end()) shutdown(found->second->client_fd(), SHUT_RDWR);
  }

  bool AwaitNone(MonotonicTime until) {
    MutexLock lock(mutex_);
    while (!connections_.empty()) {
      const MonotonicTime now = clock_.Read().monotonic;
      if (now >= until) return false;
      removed_.WaitFor(mutex_, until - now);
    }
    return true;
  }

  size_t size() {
    MutexLock lock(mutex_);
    return connections_.size();
  }

 private:
  enum Side : uint64_t { kClient = 0, kInner = 1 };

  // The key in epoll is the connection's address, with the side in its lowest bit. The address stays valid for all
  // events of one wait, because `over_` keeps connections that ended meanwhile.
  static_assert(alignof(RelayedConnection) > 1);
  static uint64_t KeyOf(RelayedConnection& connection, Side side) {
    return std::bit_cast<uint64_t>(&connection) | side;
  }
  static RelayedConnection& ConnectionOf(uint64_t key) {
    return *std::bit_cast<RelayedConnection*>(key & ~uint64_t{kInner});
  }

  absl::Status Watch(RelayedConnection& connection, int fd, Side side) {
    return poller_.Add(fd, kEvents | (side == kClient ? uint32_t{EPOLLOUT} : 0), KeyOf(connection, side));
  }

  // Makes the pair and gives one end to gRPC. Returns the relay's end, or -1 if there is no room.
  int Open(RelayedConnection& connection) {
    absl::StatusOr<Pair> pair = MakePair(connection.id());
    if (!pair.ok()) {
      connection.SetEnd(RelayEnd::Kind::kNoRoom, std::string(pair.status().message()));
      return -1;
    }
    const int inner = pair->relay.get();
    connection.Open(std::move(pair->relay));
    hooks_.on_open(connection.id(), std::move(pair->grpc), connection.has_tls() ? &connection.client() : nullptr);
    return inner;
  }

  void Run() {
    pthread_setname_np(pthread_self(), "ms-relay");
    while (true) {
      const absl::Duration patience = !ready_.empty()   ? absl::ZeroDuration()
                                      : !timed_.empty() ? kTick
                                                        : absl::InfiniteDuration();
      const std::span<const epoll_event> events = poller_.Wait(patience);
      now_ = clock_.Read().monotonic;
      std::vector<std::pair<uint64_t, std::string>> unwatched;
      {
        MutexLock lock(mutex_);
        if (is_stopping_) return;
        unwatched.swap(unwatched_);
      }
      for (RelayedConnection* connection : std::exchange(ready_, {})) {
        connection->is_ready = false;
        if (!connection->is_over) Turn(*connection);
      }
      for (const epoll_event& event : events) Note(event);
      CutTheOverdue();
      for (const auto& [id, why] : unwatched) RemoveUnwatched(id, why);
      CloseAllOver();
    }
  }

  void Note(const epoll_event& event) {
    RelayedConnection& connection = ConnectionOf(event.data.u64);
    if (connection.is_over) return;  // an earlier event of the same wait has ended it
    const bool is_inner = (event.data.u64 & kInner) != 0;
    connection.Note(is_inner ? RelayedConnection::Side::kInner : RelayedConnection::Side::kClient, event.events);
    Turn(connection);
  }

  void Turn(RelayedConnection& connection) {
    const bool was_open = connection.is_open();
    RelayedConnection::Step step = connection.Turn(scratch_.data(), now_);
    if (step == RelayedConnection::Step::kReady) {
      const int inner = Open(connection);
      if (inner < 0 || !Watch(connection, inner, kInner).ok()) return Remove(connection);
      SetTimed(connection, false);
      step = connection.Turn(scratch_.data(), now_);
    }
    switch (step) {
      case RelayedConnection::Step::kOver:
        return Remove(connection);
      case RelayedConnection::Step::kMore:
        SetReady(connection);
        break;
      default:
        break;
    }
    if (connection.needs_inner_writable() != connection.is_inner_writable_watched) {
      connection.is_inner_writable_watched = connection.needs_inner_writable();
      const uint32_t more = connection.is_inner_writable_watched ? uint32_t{EPOLLOUT} : 0;
      if (!poller_.Modify(connection.inner_fd(), kEvents | more, KeyOf(connection, kInner)).ok()) {
        return Remove(connection);
      }
    }
    if (const std::optional<FrameGuard::Breach> pause = connection.TakePause()) {
      if (hooks_.on_paused) hooks_.on_paused(connection.id(), *pause);
    }
    const bool is_timed =
        (!was_open && !connection.is_open()) || !connection.cut_at().is_never() || connection.paused_until() > now_;
    if (is_timed) SetTimed(connection, true);
  }

  void SetReady(RelayedConnection& connection) {
    if (!std::exchange(connection.is_ready, true)) ready_.push_back(&connection);
  }

  void SetTimed(RelayedConnection& connection, bool is_timed) {
    if (std::exchange(connection.is_timed, is_timed) == is_timed) return;
    if (is_timed) {
      timed_.insert(&connection);
    } else {
      timed_.erase(&connection);
    }
  }

  void CutTheOverdue() {
    if (timed_.empty()) return;
    const std::vector<RelayedConnection*> looked(timed_.begin(), timed_.end());  // a copy: SetTimed changes timed_
    for (RelayedConnection* connection : looked) {
      if (connection->is_over) continue;
      if (!connection->is_open() && now_ - connection->begun_at() >= handshake_limit_) {
        connection->SetEnd(RelayEnd::Kind::kSlow, "its handshake took too long");
        Remove(*connection);
      } else if (now_ >= connection->cut_at()) {
        Remove(*connection);
      } else if (connection->is_open() && connection->cut_at().is_never() && connection->paused_until() <= now_) {
        SetTimed(*connection, false);  // a pause is over
        Turn(*connection);
      }
    }
  }

  void RemoveUnwatched(uint64_t id, const std::string& why) {
    RelayedConnection* connection = Find(id);
    if (connection == nullptr) return;  // an event of the other socket has already ended it
    connection->SetEnd(RelayEnd::Kind::kNoRoom, why);
    Remove(*connection);
  }

  RelayedConnection* Find(uint64_t id) {
    MutexLock lock(mutex_);
    const auto found = connections_.find(id);
    return found == connections_.end() ? nullptr : found->second.get();
  }

  // Called when the client's side is over. The connection stays until gRPC's side is over, too, which may take a while.
  void Remove(RelayedConnection& connection) {
    MutexLock lock(mutex_);  // Cut uses the client's descriptor
    if (connection.Drain(now_)) {
      SetTimed(connection, true);
      SetReady(connection);
      return;
    }
    SetTimed(connection, false);
    connection.is_over = true;
    over_.push_back(std::move(connections_.extract(connection.id()).mapped()));
  }

  void CloseAllOver() {
    if (over_.empty()) return;
    std::erase_if(ready_, [](const RelayedConnection* connection) { return connection->is_over; });
    for (std::unique_ptr<RelayedConnection>& connection : std::exchange(over_, {})) Close(std::move(connection));
    MutexLock lock(mutex_);
    if (connections_.empty()) removed_.NotifyAll();
  }

  // Closes the descriptors before the hook reports the end.
  void Close(std::unique_ptr<RelayedConnection> connection) {
    const uint64_t id = connection->id();
    const RelayEnd end = connection->end();
    connection.reset();
    hooks_.on_closed(id, end);
  }

  const absl::Duration handshake_limit_;
  const Hooks& hooks_;
  const Clock& clock_;
  Poller poller_{kEventsAtOnce};
  std::thread thread_;

  // Used only by the relay's thread.
  std::string scratch_;
  MonotonicTime now_;
  std::vector<RelayedConnection*> ready_;                 // can go on without waiting for an event
  std::unordered_set<RelayedConnection*> timed_;          // those with a time limit: handshake, linger or pause
  std::vector<std::unique_ptr<RelayedConnection>> over_;  // ended in this turn, and removed from connections_

  Mutex mutex_;
  CondVar removed_;
  // No thread except the relay's erases connections or uses their members.
  std::unordered_map<uint64_t, std::unique_ptr<RelayedConnection>> connections_ ABSL_GUARDED_BY(mutex_);
  std::vector<std::pair<uint64_t, std::string>> unwatched_ ABSL_GUARDED_BY(mutex_);  // id, and why epoll refused it
  bool is_stopping_ ABSL_GUARDED_BY(mutex_) = false;
};

Relay::Relay(Options options, Hooks hooks, const Clock& clock) : hooks_(std::move(hooks)), clock_(clock) {
  for (size_t i = 0; i < std::max<size_t>(options.threads, 1); ++i) {
    threads_.push_back(std::make_unique<Thread>(options, hooks_, clock));
  }
}

Relay::~Relay() { Stop(); }

absl::Status Relay::Start() {
  for (const std::unique_ptr<Thread>& thread : threads_) {
    if (absl::Status started = thread->Start(); !started.ok()) return started;
  }
  return absl::OkStatus();
}

void Relay::Stop() {
  for (const std::unique_ptr<Thread>& thread : threads_) thread->Stop();
}

bool Relay::AwaitNone(absl::Duration timeout) {
  const MonotonicTime until = clock_.Read().monotonic + timeout;
  return std::all_of(threads_.begin(), threads_.end(),
                     [until](const auto& thread) { return thread->AwaitNone(until); });
}

void Relay::Add(uint64_t id, UniqueFd client, std::shared_ptr<const TlsServerContext> tls) {
  ThreadOf(id).Add(id, std::move(client), std::move(tls));
}

void Relay::Cut(uint64_t id) { ThreadOf(id).Cut(id); }

size_t Relay::size() const {
  size_t size = 0;
  for (const std::unique_ptr<Thread>& thread : threads_) size += thread->size();
  return size;
}

void NotePause(CountedLog& counted, const std::string& peer, const FrameGuard::Breach& pause) {
  counted.Note(Severity::kWarning, pause.kind,
               absl::StrCat("reads from ", peer, " more slowly: it sends ", pause.text));
}

void NoteEnd(CountedLog& counted, const std::string& peer, const RelayEnd& end) {
  switch (end.kind) {
    case RelayEnd::Kind::kEnded:
      return;
    case RelayEnd::Kind::kRefused:
      return counted.Note(Severity::kWarning, FaultName(end.fault),
                          absl::StrCat("refused the connection of ", peer, ": ", end.text));
    case RelayEnd::Kind::kSlow:
      return counted.Note(Severity::kWarning, FaultName(TlsFault::kHandshakeFailed),
                          absl::StrCat("dropped the connection of ", peer, ": ", end.text));
    case RelayEnd::Kind::kBreach:
      return counted.Note(
          Severity::kWarning, end.what,
          absl::StrCat("closed the connection of ", peer, ", which breaks the rules of HTTP/2: ", end.text));
    case RelayEnd::Kind::kNoRoom:
      return counted.Note(Severity::kWarning, "no room for a connection",
                          absl::StrCat("dropped the connection of ", peer, ": ", end.text));
  }
}

}  // namespace muster
