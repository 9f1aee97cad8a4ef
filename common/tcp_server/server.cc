#include "common/tcp_server/server.h"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <pthread.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <future>
#include <span>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/base/text.h"
#include "common/net/fair_share.h"
#include "common/net/net.h"
#include "common/sys/threads.h"

namespace muster {
namespace {

constexpr int kAcceptsAtOnce = 16;
constexpr int kBacklog = 65535;  // the kernel limits it to net.core.somaxconn
constexpr absl::Duration kTick = absl::Milliseconds(100);
constexpr absl::Duration kIdleTick = absl::Seconds(1);   // while no client is connected
constexpr absl::Duration kIdleGrace = absl::Seconds(1);  // of silence; then a client may be closed for another
constexpr size_t kCloseAtOnce = 16;
constexpr absl::Duration kFlushInterval = absl::Seconds(10);

}  // namespace

absl::StatusOr<std::unique_ptr<TcpServer>> TcpServer::Start(TcpServerOptions options, TcpProtocol& protocol,
                                                            const Clock& clock) {
  std::unique_ptr<TcpServer> server(new TcpServer(std::move(options), protocol, clock));
  if (const absl::Status& status = server->poller_.status(); !status.ok()) return status;
  if (server->options_.tls != nullptr) {
    absl::StatusOr<std::unique_ptr<ServerTls>> tls = ServerTls::Create(
        *server->options_.tls,
        {.takes_nameless = server->options_.takes_every_name, .only_nodes = !server->options_.takes_every_name},
        *server->counted_);
    if (!tls.ok()) return tls.status();
    server->tls_ = *std::move(tls);
  }
  absl::StatusOr<std::thread> thread = TryThread([raw = server.get()] { raw->Run(); });
  if (!thread.ok()) return thread.status();
  server->thread_ = *std::move(thread);
  return server;
}

TcpServer::TcpServer(TcpServerOptions options, TcpProtocol& protocol, const Clock& clock)
    : options_(std::move(options)),
      protocol_(protocol),
      clock_(clock),
      counted_(options_.counted != nullptr ? options_.counted : std::make_shared<CountedLog>(clock)) {
  context_.counted = counted_;
  context_.now = clock.Read().monotonic;
  context_.touch = [this](uint64_t id) { ready_.insert(id); };
  context_.dial = [this](const SocketAddress& to) { return Dial(to); };
  context_.adopt = [this](UniqueFd socket) { return Adopt(std::move(socket)); };
  context_.post = [this, mailbox = mailbox_](uint64_t id, std::function<void(TcpConnection&)> take) {
    mailbox->Push([this, id, take = std::move(take)] {
      const auto found = connections_.find(id);
      if (found == connections_.end()) return;
      take(*found->second);
      ready_.insert(id);
    });
  };
}

TcpServer::~TcpServer() {
  if (thread_.joinable()) {
    mailbox_->Push([this] { is_stopping_ = true; });
    thread_.join();
  }
  mailbox_->Close();
}

absl::StatusOr<uint16_t> TcpServer::Listen(const IpAddress& address, uint16_t port, uint32_t listener) {
  absl::StatusOr<UniqueFd> fd = ListenOn(address, port, kBacklog, absl::StrCat(protocol_.words().name, " processes"));
  if (!fd.ok()) return fd.status();
  const absl::StatusOr<SocketAddress> bound = LocalEnd(fd->get());
  if (!bound.ok()) return bound.status();
  auto made = std::make_shared<Listener>();
  made->fd = *std::move(fd);
  made->listener = listener;
  mailbox_->Push([this, made] {
    const uint64_t id = ++last_id_;
    if (poller_.Add(made->fd.get(), EPOLLIN, id).ok()) listeners_.emplace(id, std::move(*made));
  });
  // Clients may use the port at once: the kernel queues their connections until the server's thread accepts them.
  return bound->port;
}

void TcpServer::ListenLocally(UniqueFd socket, uint32_t listener) {
  auto made = std::make_shared<Listener>(Listener{std::move(socket), listener, /*is_local=*/true});
  mailbox_->Push([this, made] {
    const uint64_t id = ++last_id_;
    if (poller_.Add(made->fd.get(), EPOLLIN, id).ok()) listeners_.emplace(id, std::move(*made));
  });
}

void TcpServer::StopListening(uint32_t listener) {
  auto closed = std::make_shared<std::promise<void>>();
  std::future<void> is_closed = closed->get_future();
  mailbox_->Push([this, listener, closed = std::move(closed)] {
    std::erase_if(listeners_, [listener](const auto& entry) { return entry.second.listener == listener; });
    closed->set_value();
  });
  is_closed.wait();
}

absl::Duration TcpServer::Patience() const {
  if (!ready_.empty() || !handshakes_.empty()) return absl::ZeroDuration();
  if (!delayed_.empty()) return absl::Milliseconds(1);
  const bool is_idle = connections_.empty() && !are_listeners_paused_ && !protocol_.HasTimers();
  return is_idle ? kIdleTick : kTick;
}

void TcpServer::Run() {
  pthread_setname_np(pthread_self(), protocol_.words().thread.c_str());
  protocol_.Begin(context_);
  while (!is_stopping_) {
    const std::span<const epoll_event> events = poller_.Wait(Patience());
    context_.now = clock_.Read().monotonic;
    for (Task& task : mailbox_->TakeAll()) task();
    for (const epoll_event& event : events) {
      const uint64_t id = event.data.u64;
      const auto listener = listeners_.find(id);
      if (listener != listeners_.end()) {
        Accept(listener->second);
      } else {
        Touch(id, event.events);
      }
    }
    ready_.merge(std::exchange(delayed_, {}));
    ServeReady();
    ShakeHands();
    if (context_.now >= next_tick_) Tick();
  }
  for (const auto& [id, connection] : connections_) connection->FlushAtEnd();
  protocol_.End();
  if (options_.counted == nullptr) counted_->Flush();
}

void TcpServer::Accept(Listener& listener) {
  for (int i = 0; i < kAcceptsAtOnce; ++i) {
    SocketAddress from;
    UniqueFd fd = AcceptFrom(listener.fd.get(), from);
    if (!fd.is_open()) {
      const bool are_none_left = errno == EMFILE || errno == ENFILE || errno == ENOBUFS || errno == ENOMEM;
      if (are_none_left && !MakeRoom(nullptr)) {  // otherwise the full queue would wake this thread all the time
        are_listeners_paused_ = true;
        WatchListeners(0);
      }
      return;
    }
    if (listener.is_local) from = SocketAddress();
    const absl::StatusOr<SocketAddress> own = listener.is_local ? SocketAddress() : LocalEnd(fd.get());
    if (!own.ok() || !IsWelcome(from, *own, listener.is_local)) continue;
    if (options_.detects_dead_peers && !listener.is_local) SetDeadPeerDetection(fd.get());
    TcpClient client;
    client.connection = ++last_id_;
    client.listener = listener.listener;
    client.address = from.address;
    const uint64_t id = client.connection;
    if (!poller_.Add(fd.get(), EPOLLIN, id).ok()) continue;
    watched_[id] = EPOLLIN;
    connections_.emplace(id, protocol_.Accept(Stream(std::move(fd)), client,
                                              JoinHostPort(own->address.ToString(), own->port), context_));
    ++open_of_[FairShare(from.address).bytes()];
  }
}

uint64_t TcpServer::Dial(const SocketAddress& to) {
  UniqueFd fd = StartConnecting(to);
  if (!fd.is_open()) return 0;
  TcpClient client;
  client.connection = ++last_id_;
  client.address = to.address;
  const uint64_t id = client.connection;
  if (!poller_.Add(fd.get(), EPOLLOUT, id).ok()) return 0;
  watched_[id] = EPOLLOUT;
  std::unique_ptr<TcpConnection> connection = protocol_.Dialed(Stream(std::move(fd)), client, context_);
  connection->Dial(tls_ == nullptr ? nullptr : tls_->Context());
  connections_.emplace(id, std::move(connection));
  ++open_of_[FairShare(to.address).bytes()];
  return id;
}

uint64_t TcpServer::Adopt(UniqueFd socket) {
  TcpClient client;
  client.connection = ++last_id_;
  const uint64_t id = client.connection;
  if (!poller_.Add(socket.get(), EPOLLIN, id).ok()) return 0;
  watched_[id] = EPOLLIN;
  std::unique_ptr<TcpConnection> connection = protocol_.Adopted(Stream(std::move(socket)), client, context_);
  connection->Adopt();
  connections_.emplace(id, std::move(connection));
  ++open_of_[FairShare(client.address).bytes()];
  return id;
}

// Counts an event of the kind `what`, under the protocol's name, and logs `text`.
void TcpServer::Count(const std::string& what, const std::string& text) {
  counted_->Note(Severity::kWarning, absl::StrCat(protocol_.words().name, ": ", what), text);
}

bool TcpServer::IsWelcome(const SocketAddress& from, const SocketAddress& own, bool is_local) {
  const std::string address = from.address.ToString();
  if (const std::string why = options_.why_not ? options_.why_not(from, own) : ""; !why.empty()) {
    Count("not let in", absl::StrCat("a connection from ", address, " was closed: ", why));
    return false;
  }
  const IpAddress share = FairShare(from.address);
  const auto same = open_of_.find(share.bytes());
  if (same != open_of_.end() && same->second >= options_.max_of_each_client && !MakeRoom(&share)) {
    Count("too many connections of one address",
          absl::StrCat("a connection from ", address, " was closed: ", options_.max_of_each_client, " connections of ",
                       FairShareName(from.address), " are open already"));
    return false;
  }
  const size_t most = options_.max_connections * (is_local ? 2 : 1);  // half of it is for local clients only
  if (connections_.size() >= most && !MakeRoom(nullptr)) {
    Count("too many connections",
          absl::StrCat("a connection from ", address, " was closed: ", most, " connections are open already"));
    return false;
  }
  return true;
}

// Closes a connection to make room: the oldest one that never sent a complete message; if there is none, one that
// yields; if there is none either, idle ones that the protocol doesn't need. Returns false if no connection could be
// closed.
bool TcpServer::MakeRoom(const IpAddress* only_of) {
  const TcpConnection* oldest = nullptr;
  for (const auto& [id, connection] : connections_) {
    if (connection->has_spoken() || context_.now - connection->last_heard() < kIdleGrace) continue;
    if (only_of != nullptr && FairShare(connection->client().address) != *only_of) continue;
    if (oldest == nullptr || connection->last_heard() < oldest->last_heard()) oldest = connection.get();
  }
  if (oldest == nullptr) return CloseYielding(only_of) || CloseIdle(only_of);
  Remove(oldest->client().connection);
  return true;
}

bool TcpServer::CloseYielding(const IpAddress* only_of) {
  const TcpConnection* chosen = nullptr;
  for (const auto& [id, connection] : connections_) {
    const int yields = connection->yields();
    if (yields == 0 || (only_of != nullptr && FairShare(connection->client().address) != *only_of)) continue;
    const int least = chosen == nullptr ? 0 : chosen->yields();
    if (yields > least || (yields == least && id < chosen->client().connection)) chosen = connection.get();
  }
  if (chosen == nullptr) return false;
  Count("connections closed for others", absl::StrCat("a connection of ", chosen->client().address.ToString(),
                                                      " was closed to make room for another one"));
  Remove(chosen->client().connection);
  return true;
}

// Closes several idle connections at once, and only once in a tick of the clock, because it may cost the protocol much
// time to find out which ones it needs.
bool TcpServer::CloseIdle(const IpAddress* only_of) {
  if (context_.now - last_closing_ < kTick) return false;
  last_closing_ = context_.now;
  const std::set<uint64_t> needed = protocol_.Needed();
  std::vector<std::pair<MonotonicTime, uint64_t>> idle;
  for (const auto& [id, connection] : connections_) {
    if (connection->has_work() || context_.now - connection->last_heard() < kIdleGrace || needed.contains(id)) continue;
    if (only_of == nullptr || FairShare(connection->client().address) == *only_of)
      idle.emplace_back(connection->last_heard(), id);
  }
  std::sort(idle.begin(), idle.end());
  if (idle.size() > kCloseAtOnce) idle.resize(kCloseAtOnce);
  for (const auto& [since, id] : idle) Remove(id);
  if (!idle.empty()) {
    Count("idle connections closed",
          absl::StrCat(idle.size(),
                       " idle connections of processes that have not registered were closed to make "
                       "room for another one"));
  }
  return !idle.empty();
}

void TcpServer::Open(TcpConnection& connection) {
  const bool takes_tls = tls_ != nullptr && options_.takes_tls;
  const char* const why_not = options_.takes_tls ? "but no --tls_config is set here; " : "which is not accepted here; ";
  connection.Open(takes_tls ? tls_->Context() : nullptr, absl::StrCat(why_not, protocol_.words().without_tls));
  if (connection.opening() != TcpConnection::Opening::kOpen) return;
  if (options_.plain_from == PlainFrom::kNone) {
    connection.Finish("it does not speak TLS, which --require_tls asks for");
  } else if (options_.plain_from == PlainFrom::kThisMachine && !IsLocalAddress(connection.client().address)) {
    connection.Finish(
        absl::StrCat("it comes from another machine and does not speak TLS, which --tls_config asks for; ",
                     protocol_.words().with_tls));
  }
}

void TcpServer::Touch(uint64_t id, uint32_t events) {
  const auto found = connections_.find(id);
  if (found == connections_.end()) return;
  TcpConnection& connection = *found->second;
  if ((events & (EPOLLHUP | EPOLLERR)) != 0 && !connection.wants_read()) {
    // Otherwise epoll would report the end again and again while the answer, which no one will read, is awaited.
    connection.NoteEnd();
    poller_.Remove(connection.fd());
  }
  if (connection.opening() == TcpConnection::Opening::kUnknown) Open(connection);
  if (connection.opening() == TcpConnection::Opening::kHandshake) {
    // While it waits for its turn, no events are watched. The turn also notices an end.
    if ((events & (EPOLLHUP | EPOLLERR)) != 0) {
      poller_.Remove(connection.fd());
    } else {
      poller_.Modify(connection.fd(), 0, id).IgnoreError();
    }
    watched_[id] = 0;
    if (in_handshakes_.insert(id).second) handshakes_.push_back(id);
    return;
  }
  ready_.insert(id);
}

void TcpServer::ServeReady() {
  for (const uint64_t id : std::exchange(ready_, {})) {
    const auto found = connections_.find(id);
    if (found == connections_.end()) continue;
    if (found->second->Serve()) ready_.insert(id);
    Look(id, *found->second);
    if (context_.input_bytes > protocol_.MaxInputBytes()) protocol_.FreeInput();
    if (context_.input_bytes > protocol_.MaxInputBytes()) CutTheLargest();
  }
}

// Cut the connection that holds most, not the newest: otherwise clients that send half messages could starve an honest
// writer.
void TcpServer::CutTheLargest() {
  const auto largest = std::max_element(connections_.begin(), connections_.end(), [](const auto& a, const auto& b) {
    return a.second->input_bytes() < b.second->input_bytes();
  });
  if (largest == connections_.end() || largest->second->input_bytes() == 0) return;
  largest->second->Finish(
      absl::StrCat("incomplete messages take more than ", protocol_.MaxInputBytes(),
                   " bytes here, and this connection holds most of them: find out which program sends so slowly"));
  Look(largest->first, *largest->second);
}

// Makes one handshake in each turn of the loop: it takes milliseconds, in which no other client is served.
void TcpServer::ShakeHands() {
  auto found = connections_.end();
  uint64_t id = 0;
  while (found == connections_.end()) {
    if (handshakes_.empty()) return;
    id = handshakes_.front();
    handshakes_.pop_front();
    in_handshakes_.erase(id);
    found = connections_.find(id);
  }
  found->second->ShakeHands();
  if (found->second->opening() == TcpConnection::Opening::kOpen) {
    poller_.Add(found->second->fd(), 0, id).IgnoreError();  // needed if Touch has removed it
    ready_.insert(id);
  }
  Look(id, *found->second);
}

// Called after anything was done with a connection. Removes it if it is finished.
void TcpServer::Look(uint64_t id, TcpConnection& connection) {
  if (!connection.is_finished()) {
    if (connection.is_delayed()) delayed_.insert(id);
    return Watch(id, connection);
  }
  if (!connection.reason().empty()) {
    Count("connection closed",
          absl::StrCat("the connection of ", connection.client().address.ToString(), " to ", protocol_.words().name,
                       "'s port was closed: ", EscapeControl(connection.reason())));
  }
  Remove(id);
}

void TcpServer::Watch(uint64_t id, const TcpConnection& connection) {
  const uint32_t events = (connection.wants_read() ? EPOLLIN : 0U) | (connection.wants_write() ? EPOLLOUT : 0U);
  uint32_t& watched = watched_[id];
  if (watched == events) return;
  watched = events;
  poller_.Modify(connection.fd(), events, id).IgnoreError();  // fails if Touch has removed it
}

void TcpServer::Remove(uint64_t id) {
  const auto found = connections_.find(id);
  if (found == connections_.end()) return;
  const TcpClient client = found->second->client();
  connections_.erase(found);
  watched_.erase(id);
  const auto share = open_of_.find(FairShare(client.address).bytes());
  if (share != open_of_.end() && --share->second == 0) open_of_.erase(share);
  protocol_.Closed(client);
}

void TcpServer::WatchListeners(uint32_t events) {
  for (const auto& [id, listener] : listeners_) poller_.Modify(listener.fd.get(), events, id).IgnoreError();
}

void TcpServer::Tick() {
  next_tick_ = context_.now + kTick;
  const std::shared_ptr<const TlsState> trusted = NewTrust();
  std::vector<uint64_t> finished;  // removed after the loop, because Look erases from connections_
  for (const auto& [id, connection] : connections_) {
    connection->CheckTimes();
    if (trusted != nullptr) connection->CheckTrust(*trusted->trust);
    if (connection->is_finished()) finished.push_back(id);
    if (connection->wants_write() || connection->is_held()) ready_.insert(id);
  }
  for (const uint64_t id : finished) Look(id, *connections_.at(id));
  if (std::exchange(are_listeners_paused_, false)) WatchListeners(EPOLLIN);
  protocol_.Tick();
  if (options_.counted == nullptr && context_.now - last_flush_ >= kFlushInterval) {
    last_flush_ = context_.now;
    counted_->Flush();
  }
}

// Returns the present state of the certificates if the trusted authorities or lists have changed since the last call;
// otherwise null.
std::shared_ptr<const TlsState> TcpServer::NewTrust() {
  if (options_.tls == nullptr) return nullptr;
  std::shared_ptr<const TlsState> state = options_.tls->Current();
  return std::exchange(trust_generation_, state->trust_generation) == state->trust_generation ? nullptr : state;
}

}  // namespace muster
