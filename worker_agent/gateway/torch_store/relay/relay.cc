#include <algorithm>
#include <cstdint>
#include <memory>
#include <random>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/base/text.h"
#include "common/net/net.h"
#include "common/tcp_server/connection.h"
#include "worker_agent/gateway/torch_store/relay/mux.h"
#include "worker_agent/gateway/torch_store/relay/pipe.h"
#include "worker_agent/gateway/torch_store/server.h"

namespace muster::torch_store {
namespace {

class LocalClient;

// The relay's state: its session with the store, its clients, and the current link. Only the relay's thread may use it.
class Uplink {
 public:
  explicit Uplink(RelayOptions options) : options_(std::move(options)) {}

  void Begin(TcpServerContext& context);
  // After End, this object touches no connection.
  void End() { has_ended_ = true; }
  const RelayOptions& options() const { return options_; }
  TcpServerContext& context() { return *context_; }
  // A buffer for one read.
  std::vector<char>& scratch() { return scratch_; }
  Mux& mux() { return *mux_; }
  // Returns how many bytes may be read from one client at once: an equal part of the link's room, but at least
  // kLeastShare.
  size_t Share() const;

  uint32_t Enter(LocalClient& client);
  void Leave(uint32_t id);
  // Wakes the link so that it sends.
  void TouchLink();

  LinkHello Hello() const;
  // Call it if the store closed the connection after the hello: the store may be of the previous version.
  void TryOtherVersion() { hello_.version = hello_.version == kLinkVersion ? kFirstLinkVersion : kLinkVersion; }
  // Call it if the store continues the session. Returns an error if the store can't be trusted.
  absl::Status GoOn(uint64_t received_there);
  // Call it if the session is over. Disconnects its clients; the next link begins another session.
  void Lose(const std::string& reason);

  // Dials the store if there is no link and the pause since the last try is over.
  void DialIfDue();
  // Call it when the link has ended. `is_refusal` is true if the store's agent refused the link.
  void LinkEnded(const std::string& reason, bool is_refusal);

 private:
  void NewSession();

  const RelayOptions options_;
  TcpServerContext* context_ = nullptr;  // null before Begin
  std::vector<char> scratch_ = std::vector<char>(64 * 1024);
  LinkHello hello_;
  std::unique_ptr<Mux> mux_;
  std::unordered_map<uint32_t, LocalClient*> clients_;

  uint64_t link_ = 0;  // the link's connection; 0: there is none
  bool is_up_ = false;
  bool has_ended_ = false;
  MonotonicTime down_since_;
  MonotonicTime dial_at_;
  absl::Duration back_off_;
};

// The connection of one of this machine's processes. The store learns of it when it sends its first byte. So a client
// that connects and closes while the link is cut leaves no trace.
class LocalClient final : public TcpConnection {
 public:
  LocalClient(Stream stream, const TcpClient& client, Uplink& uplink, TcpServerContext& context)
      : TcpConnection(std::move(stream), client, context), uplink_(uplink) {}
  ~LocalClient() override;

  bool Serve() override;
  bool wants_read() const override { return !has_ended_ && !is_finished_ && Room() > 0; }
  bool wants_write() const override { return id_ != 0 && !uplink_.mux().Peek(id_).empty(); }
  bool is_held() const override { return id_ == 0 && !has_ended_ && !is_finished_ && Room() == 0; }
  bool has_work() const override { return has_spoken_; }
  bool has_spoken() const override { return has_spoken_; }
  size_t input_bytes() const override { return 0; }

  // Call it when the session is over.
  void Lose(const std::string& reason);
  void Touch() { context_.touch(client_.connection); }

 private:
  size_t Room() const { return id_ != 0 ? uplink_.mux().Room(id_) : uplink_.mux().RoomOfNext(); }
  void Read();
  void Write();

  Uplink& uplink_;
  uint32_t id_ = 0;  // 0: the client has sent nothing, or its session is over
  bool has_spoken_ = false;
};

// The connection to the store's agent.
class StoreLink final : public TcpConnection {
 public:
  StoreLink(Stream stream, const TcpClient& client, Uplink& uplink, TcpServerContext& context)
      : TcpConnection(std::move(stream), client, context), uplink_(uplink), begun_at_(context.now) {}
  ~StoreLink() override { uplink_.LinkEnded(why_.empty() ? reason() : why_, is_refused_); }

  bool Serve() override;
  void CheckTimes() override;
  bool wants_read() const override { return !is_finished_; }
  bool wants_write() const override;
  bool is_delayed() const override { return is_held_back_; }
  bool has_work() const override { return true; }
  bool has_spoken() const override { return true; }
  size_t input_bytes() const override { return 0; }

 protected:
  void HasOpened() override;

 private:
  // Breaks the link without a line in the server's log. The link is made again; Uplink logs a line if that fails for
  // too long.
  void Break(const std::string& why);
  void Read();
  absl::Status Take(std::string_view bytes);
  void Write();

  Uplink& uplink_;
  const MonotonicTime begun_at_;
  bool has_greeted_ = false;
  bool has_answer_ = false;
  bool is_refused_ = false;
  std::string answer_;
  // True if the store has sent nothing since this side last wrote. Bytes that come in this time are collected for up to
  // a millisecond and sent together, because each packet costs the store more than the requests in it.
  bool awaits_ = false;
  bool is_held_back_ = false;
  MonotonicTime written_at_;
  std::string why_;
  LinkPipe pipe_;
};

constexpr absl::Duration kFirstBackOff = absl::Milliseconds(50);
constexpr absl::Duration kMaxBackOff = absl::Seconds(1);
constexpr absl::Duration kPatience = absl::Seconds(3);  // without a link, before the relay logs it
constexpr absl::Duration kAnswerTimeout = absl::Seconds(10);
constexpr size_t kLeastShare = 4 * 1024;
constexpr absl::Duration kHeldBack = absl::Milliseconds(1);

std::string RandomSession() {
  std::random_device random;  // getrandom, or the processor's random numbers
  std::string session;
  while (session.size() < kSessionBytes) {
    const uint32_t number = random();
    session.append(reinterpret_cast<const char*>(&number), sizeof(number));
  }
  return session;
}

void Uplink::Begin(TcpServerContext& context) {
  context_ = &context;
  hello_ = options_.hello;
  down_since_ = context.now;
  back_off_ = kFirstBackOff;
  NewSession();
}

void Uplink::NewSession() {
  hello_.is_new = true;
  hello_.session = RandomSession();
  mux_ = std::make_unique<Mux>(Mux::Side::kRelay, Mux::Events{.opened = [](uint32_t) {},
                                                              .touched =
                                                                  [this](uint32_t id) {
                                                                    const auto found = clients_.find(id);
                                                                    if (found != clients_.end()) found->second->Touch();
                                                                  },
                                                              .has_room =
                                                                  [this] {
                                                                    for (const auto& [id, c] : clients_) c->Touch();
                                                                  }});
}

uint32_t Uplink::Enter(LocalClient& client) {
  const uint32_t id = mux_->Open();
  clients_.emplace(id, &client);
  TouchLink();
  return id;
}

void Uplink::Leave(uint32_t id) {
  clients_.erase(id);
  mux_->Drop(id);
  TouchLink();
}

size_t Uplink::Share() const {
  return std::max(kLeastShare, mux_->stream().room() / std::max<size_t>(clients_.size(), 1));
}

void Uplink::TouchLink() {
  if (is_up_ && !has_ended_) context_->touch(link_);
}

LinkHello Uplink::Hello() const {
  LinkHello hello = hello_;
  hello.received = mux_->stream().received();
  return hello;
}

absl::Status Uplink::GoOn(uint64_t received_there) {
  if (absl::Status status = mux_->stream().Resume(received_there); !status.ok()) return status;
  hello_.is_new = false;
  is_up_ = true;
  back_off_ = kFirstBackOff;
  for (const auto& [id, client] : clients_) client->Touch();
  return absl::OkStatus();
}

void Uplink::Lose(const std::string& reason) {
  for (const auto& [id, client] : std::exchange(clients_, {})) client->Lose(reason);
  is_up_ = false;
  NewSession();
}

void Uplink::DialIfDue() {
  if (link_ != 0 || context_->now < dial_at_) return;
  link_ = context_->dial(options_.store);
  if (link_ == 0) LinkEnded("no connection can be made from here", false);
}

void Uplink::LinkEnded(const std::string& reason, bool is_refusal) {
  if (has_ended_) return;
  if (is_up_) down_since_ = context_->now;
  is_up_ = false;
  link_ = 0;
  dial_at_ = context_->now + back_off_;
  back_off_ = std::min(back_off_ * 2, kMaxBackOff);
  if (context_->now - down_since_ < kPatience) return;
  if (is_refusal) {
    context_->counted->Note(Severity::kWarning, "PyTorch's store: link refused",
                            absl::StrCat("rank 0's agent, which has PyTorch's store, refuses this agent's link: ",
                                         EscapeControl(reason), "; the processes of this machine wait meanwhile"));
    return;
  }
  context_->counted->Note(
      Severity::kWarning, "PyTorch's store: no link",
      absl::StrCat("rank 0's agent, which has PyTorch's store, can't be reached at ",
                   JoinHostPort(options_.store.address.ToString(), options_.store.port), ": ", reason,
                   "; the processes of this machine wait meanwhile. Open that port between the machines, or start "
                   "all agents with --torch_store_relay=false"));
}

LocalClient::~LocalClient() {
  if (id_ != 0) uplink_.Leave(id_);
}

void LocalClient::Lose(const std::string& reason) {
  id_ = 0;  // otherwise the destructor would remove a client of the next session that has the same id
  Finish(reason);
  Touch();
}

bool LocalClient::Serve() {
  if (is_finished_ || opening_ != Opening::kOpen) return false;
  Write();
  if (!is_finished_ && wants_read()) Read();
  if (id_ == 0) {
    if (has_ended_) Finish("");
    return false;
  }
  if (has_ended_) uplink_.mux().Close(id_);
  if (!is_finished_ && uplink_.mux().IsAtEnd(id_)) Finish("");
  uplink_.TouchLink();
  return false;
}

void LocalClient::Read() {
  std::vector<char>& bytes = uplink_.scratch();
  size_t done = 0;
  const Stream::Io io = stream_.Read(bytes.data(), std::min({bytes.size(), Room(), uplink_.Share()}), &done);
  if (io == Stream::Io::kDone) {
    has_spoken_ = true;
    last_heard_ = context_.now;
    if (id_ == 0) id_ = uplink_.Enter(*this);
    uplink_.mux().Write(id_, {bytes.data(), done});
  }
  if (io == Stream::Io::kClosed || io == Stream::Io::kFailed) has_ended_ = true;
}

void LocalClient::Write() {
  while (!uplink_.mux().Peek(id_).empty()) {
    size_t done = 0;
    const Stream::Io io = stream_.Write(uplink_.mux().Peek(id_), &done);
    if (io == Stream::Io::kAgain) return;
    if (io != Stream::Io::kDone) return Finish("");
    uplink_.mux().Consume(id_, done);
  }
}

void StoreLink::Break(const std::string& why) {
  why_ = why;
  Finish("");
}

void StoreLink::HasOpened() {
  const std::string why = uplink_.options().why_not ? uplink_.options().why_not(client_.name) : "";
  if (!why.empty()) Break(why);
}

bool StoreLink::wants_write() const {
  if (opening_ == Opening::kHandshake) return stream_.wants_write();
  return !has_greeted_ || !pipe_.is_empty() || (has_answer_ && !is_held_back_ && uplink_.mux().stream().has_more());
}

bool StoreLink::Serve() {
  if (is_finished_ || opening_ != Opening::kOpen) return false;
  if (!has_greeted_) {
    has_greeted_ = true;
    SetDeadPeerDetection(stream_.fd());
    pipe_.Say(HelloBytes(uplink_.Hello()));
  }
  Read();
  if (!is_finished_) Write();
  return false;
}

void StoreLink::Write() {
  ResumableStream* const stream = has_answer_ ? &uplink_.mux().stream() : nullptr;
  const bool has_more = stream != nullptr && stream->has_more();
  is_held_back_ = has_more && awaits_ && pipe_.is_empty() && context_.now - written_at_ < kHeldBack;
  if (is_held_back_) return;
  if (has_more) {
    awaits_ = true;
    written_at_ = context_.now;
  }
  const Stream::Io io = pipe_.Write(stream_, stream);
  if (io == Stream::Io::kClosed || io == Stream::Io::kFailed) Break(stream_.error());
}

void StoreLink::Read() {
  std::vector<char>& bytes = uplink_.scratch();
  size_t done = 0;
  switch (stream_.Read(bytes.data(), bytes.size(), &done)) {
    case Stream::Io::kAgain:
      return;
    case Stream::Io::kClosed:
      if (answer_.empty() && !has_answer_) uplink_.TryOtherVersion();
      return Break("the other side closed the connection");
    case Stream::Io::kFailed:
      if (answer_.empty() && !has_answer_) uplink_.TryOtherVersion();
      return Break(stream_.error());
    case Stream::Io::kDone:
      break;
  }
  awaits_ = false;
  if (absl::Status status = Take({bytes.data(), done}); !status.ok()) {
    const std::string why(status.message());
    uplink_.Lose(why);
    Break(why);
  }
}

absl::Status StoreLink::Take(std::string_view bytes) {
  if (has_answer_) return uplink_.mux().Receive(bytes);
  answer_.append(bytes);
  std::string_view rest = answer_;
  const absl::StatusOr<std::optional<LinkAnswer>> answer = TakeAnswer(rest);
  if (!answer.ok()) return answer.status();
  if (!answer->has_value()) return absl::OkStatus();
  if (!(*answer)->refusal.empty()) {
    is_refused_ = true;
    Break((*answer)->refusal);  // the session stays, since the store may accept it later
    return absl::OkStatus();
  }
  if (!(*answer)->goes_on)
    return absl::NotFoundError(
        "this agent was away too long, so rank 0's agent has closed its processes' connections to the store");
  if (absl::Status status = uplink_.GoOn((*answer)->received); !status.ok()) return status;
  has_answer_ = true;
  return uplink_.mux().Receive(rest);
}

void StoreLink::CheckTimes() {
  if (is_finished_) return;
  TcpConnection::CheckTimes();
  if (!has_answer_ && context_.now - begun_at_ > kAnswerTimeout) Break("it does not answer");
  if (has_answer_) uplink_.mux().stream().Acknowledge();
}

class RelayProtocol final : public TcpProtocol {
 public:
  explicit RelayProtocol(RelayOptions options) : uplink_(std::move(options)) {}

  const Words& words() const override {
    static const auto* const words = new Words{
        .name = "PyTorch's store, by relay,",
        .thread = "ms-torch-relay",
        .without_tls = "PyTorch's store does not use TLS; see what connects to MASTER_PORT",
        .with_tls = "",
    };
    return *words;
  }
  void Begin(TcpServerContext& context) override { uplink_.Begin(context); }
  void End() override { uplink_.End(); }
  std::unique_ptr<TcpConnection> Accept(Stream stream, const TcpClient& client, const std::string& /*own_address*/,
                                        TcpServerContext& context) override {
    return std::make_unique<LocalClient>(std::move(stream), client, uplink_, context);
  }
  std::unique_ptr<TcpConnection> Dialed(Stream stream, const TcpClient& client, TcpServerContext& context) override {
    return std::make_unique<StoreLink>(std::move(stream), client, uplink_, context);
  }
  void Closed(const TcpClient& /*client*/) override {}
  size_t MaxInputBytes() const override { return SIZE_MAX; }  // the mux's windows limit it
  void Tick() override { uplink_.DialIfDue(); }
  bool HasTimers() const override { return true; }

 private:
  Uplink uplink_;  // outlives the connections, which the server owns
};

}  // namespace

absl::StatusOr<std::unique_ptr<Service>> StartRelay(RelayOptions options, const Clock& clock) {
  TcpServerOptions tcp;
  tcp.max_connections = options.max_connections + 1;  // the link counts, too
  tcp.tls = options.tls;
  tcp.takes_tls = false;  // PyTorch's clients do not use TLS; the link still uses options.tls
  tcp.plain_from = PlainFrom::kThisMachine;
  tcp.detects_dead_peers = false;
  return Service::Start(std::move(tcp), std::make_unique<RelayProtocol>(std::move(options)), clock);
}

}  // namespace muster::torch_store
