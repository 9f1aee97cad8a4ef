#include "scheduler/ingress/http2/relay.h"

#include <pthread.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstddef>
#include <cstring>
#include <deque>
#include <optional>
#include <string_view>
#include <thread>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "common/base/mutex.h"
#include "common/sys/threads.h"

namespace muster::scheduler {
namespace {

constexpr size_t kPieceBytes = 64 * 1024;       // read at once
constexpr size_t kTurnBytes = 4 * kPieceBytes;  // of one connection, then the others get their turn
constexpr int kPairBytes = 64 * 1024;           // of each end, in the kernel (which doubles it)
constexpr absl::Duration kLinger = absl::Seconds(10);
constexpr int kLingerTickMs = 200;
constexpr char kPeerPrefix[] = "unix-abstract:";

// One direction: from a socket to another one.
struct Way {
  int from = -1;
  int to = -1;
  std::string pending;      // was read, and is to be written
  bool is_readable = true;  // until a read says EAGAIN; the next edge tells
  bool is_writable = true;
  bool has_ended = false;  // no more is read
  bool is_closed = false;  // … and the end was passed on
};

struct Connection {
  uint64_t id = 0;
  UniqueFd client;
  UniqueFd inner;  // this end of the pair
  FrameGuard guard;
  Way in;                                         // client to gRPC
  Way out;                                        // gRPC to client
  MonotonicTime cut_at = MonotonicTime::Never();  // gRPC has closed
};

// The name of a socket in Linux's abstract namespace.
bool BindAbstract(int fd, const std::string& name) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (name.size() + 1 > sizeof(address.sun_path)) return false;
  std::memcpy(address.sun_path + 1, name.data(), name.size());
  const auto length = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + name.size());
  return bind(fd, reinterpret_cast<const sockaddr*>(&address), length) == 0;
}

std::string RandomName() {
  uint64_t number = 0;
  if (getrandom(&number, sizeof(number), 0) != sizeof(number)) number = static_cast<uint64_t>(getpid());
  return absl::StrCat("ms-", absl::Hex(number), "-");
}

}  // namespace

class Relay::Thread {
 public:
  Thread(const Hooks& hooks, const Clock& clock)
      : hooks_(hooks),
        clock_(clock),
        epoll_(epoll_create1(EPOLL_CLOEXEC)),
        wake_(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)),
        scratch_(kPieceBytes, '\0') {}

  absl::Status Start() {
    epoll_event event{};
    event.events = EPOLLIN;
    if (!epoll_.is_open() || !wake_.is_open() ||
        epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, wake_.get(), &event) != 0) {  // (id 0)
      return absl::ResourceExhaustedError(absl::StrCat("no descriptors for connections: ", std::strerror(errno)));
    }
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
    eventfd_write(wake_.get(), 1);
    if (thread_.joinable()) thread_.join();
    MutexLock lock(mutex_);
    connections_.clear();
  }

  absl::Status Add(std::unique_ptr<Connection> connection) {
    const uint64_t id = connection->id;
    const int client = connection->client.get(), inner = connection->inner.get();
    MutexLock lock(mutex_);
    if (is_stopping_) return absl::UnavailableError("the scheduler is going down");
    connections_.emplace(id, std::move(connection));
    // Once, for both directions: each edge is told once, so that nothing need be changed in epoll from then on.
    if (Watch(inner, id << 1 | 1) && Watch(client, id << 1)) return absl::OkStatus();
    connections_.erase(id);
    return absl::ResourceExhaustedError(absl::StrCat("a connection can't be watched: ", std::strerror(errno)));
  }

  void Cut(uint64_t id) {
    MutexLock lock(mutex_);
    const auto found = connections_.find(id);
    if (found != connections_.end()) shutdown(found->second->client.get(), SHUT_RDWR);
  }

  size_t size() {
    MutexLock lock(mutex_);
    return connections_.size();
  }

 private:
  bool Watch(int fd, uint64_t key) {
    epoll_event event{};
    event.events = EPOLLIN | EPOLLOUT | EPOLLRDHUP | EPOLLET;
    event.data.u64 = key;
    return epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, fd, &event) == 0;
  }

  void Run() {
    pthread_setname_np(pthread_self(), "ms-relay");
    std::array<epoll_event, 256> events{};
    while (true) {
      const int patience = !ready_.empty() ? 0 : !closing_.empty() ? kLingerTickMs : -1;
      const int count = epoll_wait(epoll_.get(), events.data(), static_cast<int>(events.size()), patience);
      now_ = clock_.Read().monotonic;
      {
        MutexLock lock(mutex_);
        if (is_stopping_) return;
      }
      for (std::deque<uint64_t> ready = std::exchange(ready_, {}); const uint64_t id : ready) {
        is_ready_.erase(id);
        if (Connection* connection = Find(id)) Turn(*connection);
      }
      for (int i = 0; i < count; ++i) Note(events[static_cast<size_t>(i)]);
      CutThoseThatLinger();
    }
  }

  Connection* Find(uint64_t id) {
    MutexLock lock(mutex_);
    const auto found = connections_.find(id);
    return found == connections_.end() ? nullptr : found->second.get();
  }

  void Note(const epoll_event& event) {
    if (event.data.u64 == 0) {
      eventfd_t ignored = 0;
      eventfd_read(wake_.get(), &ignored);
      return;
    }
    Connection* connection = Find(event.data.u64 >> 1);
    if (connection == nullptr) return;  // an event before it, of the same wait, has ended it
    const bool is_inner = (event.data.u64 & 1) != 0;
    const bool is_broken = (event.events & (EPOLLHUP | EPOLLERR)) != 0;
    Way& read = is_inner ? connection->out : connection->in;
    Way& written = is_inner ? connection->in : connection->out;
    if (is_broken || (event.events & (EPOLLIN | EPOLLRDHUP)) != 0) read.is_readable = true;
    if (is_broken || (event.events & EPOLLOUT) != 0) written.is_writable = true;
    Turn(*connection);
  }

  void Turn(Connection& connection) {
    const bool goes_on = Carry(connection, connection.in) && Carry(connection, connection.out);
    // gRPC's end is the end of all; a client may end its side first and still be told something.
    if (!goes_on || connection.out.is_closed) return Remove(connection.id);
    if (connection.out.has_ended && connection.cut_at.is_never()) {
      connection.cut_at = now_ + kLinger;
      closing_.insert(connection.id);
    }
    const auto has_work = [](const Way& way) {
      return !way.is_closed && way.is_writable && (!way.pending.empty() || way.is_readable);
    };
    if ((has_work(connection.in) || has_work(connection.out)) && is_ready_.insert(connection.id).second)
      ready_.push_back(connection.id);
  }

  // As much as both sides take, within a turn. False: the connection is over.
  bool Carry(Connection& connection, Way& way) {
    const bool is_in = &way == &connection.in;
    size_t carried = 0;
    while (!way.is_closed && carried < kTurnBytes) {
      if (!way.pending.empty()) {
        const ssize_t sent = Send(way, way.pending);
        if (sent < 0) return is_in && GiveUp(way);
        way.pending.erase(0, static_cast<size_t>(sent));
        if (!way.pending.empty()) return true;
        way.pending.shrink_to_fit();
      }
      if (way.has_ended) {
        shutdown(way.to, SHUT_WR);
        way.is_closed = true;
        return true;
      }
      if (!way.is_readable || !way.is_writable) return true;
      const ssize_t got = recv(way.from, scratch_.data(), scratch_.size(), 0);
      if (got < 0 && errno == EINTR) continue;
      if (got < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) {
        way.is_readable = false;
        return true;
      }
      if (got < 0 && is_in) return false;  // broken
      if (got <= 0) {
        way.has_ended = true;
        continue;
      }
      const std::string_view bytes(scratch_.data(), static_cast<size_t>(got));
      if (is_in) {
        if (const std::optional<FrameGuard::Breach> breach = connection.guard.Take(bytes, now_)) {
          if (hooks_.on_breach) hooks_.on_breach(connection.id, *breach);
          return false;
        }
      }
      const ssize_t sent = Send(way, bytes);
      if (sent < 0) return is_in && GiveUp(way);
      way.pending.assign(bytes.substr(static_cast<size_t>(sent)));
      carried += bytes.size();
    }
    return true;
  }

  // gRPC takes no more; what it has said still goes out.
  static bool GiveUp(Way& way) {
    way.pending.clear();
    way.has_ended = way.is_closed = true;
    return true;
  }

  // How many bytes were taken; -1: broken.
  static ssize_t Send(Way& way, std::string_view bytes) {
    while (true) {
      const ssize_t sent = send(way.to, bytes.data(), bytes.size(), MSG_NOSIGNAL);
      if (sent >= 0) {
        way.is_writable = static_cast<size_t>(sent) == bytes.size();
        return sent;
      }
      if (errno == EINTR) continue;
      if (errno != EAGAIN && errno != EWOULDBLOCK) return -1;
      way.is_writable = false;
      return 0;
    }
  }

  void CutThoseThatLinger() {
    std::vector<uint64_t> overdue;
    for (const uint64_t id : closing_) {
      Connection* connection = Find(id);
      if (connection == nullptr || now_ >= connection->cut_at) overdue.push_back(id);
    }
    for (const uint64_t id : overdue) Remove(id);
  }

  void Remove(uint64_t id) {
    closing_.erase(id);
    std::unique_ptr<Connection> removed;
    {
      MutexLock lock(mutex_);
      const auto found = connections_.find(id);
      if (found == connections_.end()) return;
      removed = std::move(found->second);
      connections_.erase(found);
    }
    removed.reset();  // closes both
    if (hooks_.on_closed) hooks_.on_closed(id);
  }

  const Hooks& hooks_;
  const Clock& clock_;
  const UniqueFd epoll_;
  const UniqueFd wake_;
  std::thread thread_;

  // Of the thread.
  std::string scratch_;
  MonotonicTime now_;
  std::deque<uint64_t> ready_;             // more to do, without an event …
  std::unordered_set<uint64_t> is_ready_;  // … each once
  std::unordered_set<uint64_t> closing_;   // gRPC has closed, and not all has gone out

  Mutex mutex_;
  // Only the thread erases, and only it looks into a connection.
  std::unordered_map<uint64_t, std::unique_ptr<Connection>> connections_ ABSL_GUARDED_BY(mutex_);
  bool is_stopping_ ABSL_GUARDED_BY(mutex_) = false;
};

Relay::Relay(size_t threads, Hooks hooks, const Clock& clock) : name_(RandomName()), hooks_(std::move(hooks)) {
  for (size_t i = 0; i < std::max<size_t>(threads, 1); ++i) threads_.push_back(std::make_unique<Thread>(hooks_, clock));
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

absl::StatusOr<UniqueFd> Relay::Add(uint64_t id, UniqueFd client) {
  std::array<int, 2> pair{-1, -1};
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, pair.data()) != 0) {
    return absl::ResourceExhaustedError(
        absl::StrCat("a connection needs two descriptors more: ", std::strerror(errno)));
  }
  auto connection = std::make_unique<Connection>();
  connection->id = id;
  connection->inner = UniqueFd(pair[0]);
  UniqueFd grpc(pair[1]);
  if (!BindAbstract(pair[0], absl::StrCat(name_, id))) {
    return absl::UnavailableError(absl::StrCat("a connection can't be named: ", std::strerror(errno)));
  }
  for (const int end : pair) setsockopt(end, SOL_SOCKET, SO_SNDBUF, &kPairBytes, sizeof(kPairBytes));
  connection->in = {.from = client.get(), .to = pair[0], .pending = {}};
  connection->out = {.from = pair[0], .to = client.get(), .pending = {}};
  connection->client = std::move(client);
  if (absl::Status added = ThreadOf(id).Add(std::move(connection)); !added.ok()) return added;
  return grpc;
}

void Relay::Cut(uint64_t id) { ThreadOf(id).Cut(id); }

uint64_t Relay::IdOf(const std::string& grpc_peer) const {
  absl::string_view text(grpc_peer);
  uint64_t id = 0;
  if (!absl::ConsumePrefix(&text, kPeerPrefix) || !absl::ConsumePrefix(&text, name_)) return 0;
  return absl::SimpleAtoi(text, &id) ? id : 0;
}

size_t Relay::size() const {
  size_t size = 0;
  for (const std::unique_ptr<Thread>& thread : threads_) size += thread->size();
  return size;
}

}  // namespace muster::scheduler
