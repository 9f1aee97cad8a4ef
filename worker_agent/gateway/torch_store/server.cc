// A connection's kind, by its first bytes:
//
//                             TLS      a link's first byte    any other first byte
//   no links are served       refused  client, which fails    client
//   links, from this machine  link     link if !needs_tls     client
//   links, from another       link     link if !needs_tls     refused
#include "worker_agent/gateway/torch_store/server.h"

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "common/net/net.h"
#include "common/tcp_server/connection.h"
#include "worker_agent/gateway/torch_store/channel.h"
#include "worker_agent/gateway/torch_store/client.h"
#include "worker_agent/gateway/torch_store/store.h"

namespace muster::torch_store {
namespace {

// One connection to the store. It is either a client's own, or an agent's link with many clients (LinkEnd). A link
// begins with kLinkByte, or with TLS, which only agents use.
class Connection final : public TcpConnection, private Channel {
 public:
  // `links` may be null: no links are served.
  Connection(Stream stream, const TcpClient& client, Shared& shared, Links* links, TcpServerContext& context);

  ~Connection() override;

  bool Serve() override;
  void CheckTimes() override;
  bool wants_read() const override;
  bool wants_write() const override;
  bool is_held() const override { return speaker_ && speaker_->is_held(); }
  size_t input_bytes() const override;
  bool has_spoken() const override;
  // A client that has sent a request is never closed to make room: it may be silent for hours, and can't go on without
  // its connection.
  bool has_work() const override { return has_spoken(); }
  void FlushAtEnd() override;

 private:
  Stream::Io Read(char* out, size_t most, size_t* done) override { return stream_.Read(out, most, done); }
  Stream::Io Write(std::string_view bytes, size_t* done) override { return stream_.Write(bytes, done); }
  void Touch() override { context_.touch(client_.connection); }
  // Returns false if the first byte has not come yet, or the connection was refused.
  bool Recognise();

  Shared& shared_;
  Links* const links_;
  std::optional<Client> speaker_;  // if it is a client's own connection
  std::unique_ptr<LinkEnd> link_;  // if it is a link
};

Connection::Connection(Stream stream, const TcpClient& client, Shared& shared, Links* links, TcpServerContext& context)
    : TcpConnection(std::move(stream), client, context), shared_(shared), links_(links) {}

// If this side ended the link for a reason, its session ends too. After a mere cut, the session waits for its agent.
Connection::~Connection() {
  if (link_ != nullptr && !reason().empty()) link_->EndSession();
}

bool Connection::Recognise() {
  if (speaker_ || link_ != nullptr) return true;
  bool is_link = links_ != nullptr && stream_.has_tls();
  if (!is_link && links_ != nullptr) {
    char first = 0;
    const Stream::Io io = stream_.Peek(&first);
    if (io == Stream::Io::kAgain) return false;
    if (io != Stream::Io::kDone) {
      Finish("");
      return false;
    }
    is_link = first == kLinkByte && !links_->options().needs_tls;
  }
  if (is_link) {
    link_ = std::make_unique<LinkEnd>(stream_, client_, *links_, context_);
    return true;
  }
  if (links_ != nullptr && !IsLocalAddress(client_.address)) {
    Finish(
        "it is a process of another machine; with --torch_store_relay such a process reaches the store through its own "
        "agent, at "
        "MASTER_ADDR and MASTER_PORT");
    return false;
  }
  speaker_.emplace(client_.connection, static_cast<Channel&>(*this), shared_, context_);
  return true;
}

bool Connection::Serve() {
  if (is_finished_ || opening_ != Opening::kOpen || !Recognise()) return false;
  if (link_ != nullptr) {
    const absl::StatusOr<bool> has_more = link_->Serve();
    if (!has_more.ok()) Finish(std::string(has_more.status().message()));
    return has_more.ok() && *has_more;
  }
  if (has_ended_) speaker_->NoteEnd();
  const bool has_more = speaker_->Serve();
  last_heard_ = speaker_->last_heard();
  if (speaker_->is_finished()) Finish(speaker_->reason());
  return has_more;
}

bool Connection::wants_read() const { return !is_finished_ && !has_ended_ && (!speaker_ || speaker_->wants_read()); }

bool Connection::wants_write() const {
  if (link_ != nullptr) return link_->wants_write();
  return speaker_ && speaker_->wants_write();
}

size_t Connection::input_bytes() const {
  if (link_ != nullptr) return link_->input_bytes();
  return speaker_ ? speaker_->input_bytes() : 0;
}

bool Connection::has_spoken() const {
  if (link_ != nullptr) return link_->has_session();
  return speaker_ && speaker_->has_spoken();
}

void Connection::FlushAtEnd() {
  if (opening_ != Opening::kOpen) return;
  if (link_ != nullptr) {
    link_->Flush();
  } else if (speaker_) {
    speaker_->Write();
  }
}

void Connection::CheckTimes() {
  if (is_finished_) return;
  TcpConnection::CheckTimes();
  if (link_ != nullptr) {
    if (const std::string late = link_->CheckTimes(); !late.empty()) Finish(late);
  } else if (speaker_) {
    speaker_->CheckTimes();
    if (speaker_->is_finished()) Finish(speaker_->reason());
  }
}

class StoreProtocol final : public TcpProtocol {
 public:
  StoreProtocol(const Limits& limits, LinksOptions links)
      : shared_{limits, Store(limits, [this](uint64_t client) { shared_.clients.at(client)->StopWaiting(); })} {
    if (links.why_not) links_ = std::make_unique<Links>(std::move(links), shared_);
  }

  const Words& words() const override {
    static const auto* const words = new Words{
        .name = "PyTorch's store",
        .thread = "ms-torch-store",
        .without_tls = "only agents use TLS, with --torch_store_relay; see what connects to MASTER_PORT",
        .with_tls = "PyTorch's processes reach the store through their own machine's agent (--torch_store_relay)",
    };
    return *words;
  }

  std::unique_ptr<TcpConnection> Accept(Stream stream, const TcpClient& client, const std::string& /*own_address*/,
                                        TcpServerContext& context) override {
    return std::make_unique<Connection>(std::move(stream), client, shared_, links_.get(), context);
  }
  void Closed(const TcpClient& /*client*/) override {}
  size_t MaxInputBytes() const override { return shared_.limits.input_bytes; }
  void FreeInput() override {
    if (links_ != nullptr) links_->FreeInput(*context_);
  }
  void Begin(TcpServerContext& context) override { context_ = &context; }
  void Tick() override {
    if (links_ != nullptr) links_->CheckTimes(*context_);
  }
  bool HasTimers() const override { return links_ != nullptr && !links_->is_empty(); }
  void End() override {
    if (links_ != nullptr) links_->EndAll();
  }

 private:
  Shared shared_;                 // outlives the connections, which the server owns
  std::unique_ptr<Links> links_;  // null: no links are served
  TcpServerContext* context_ = nullptr;
};

}  // namespace

absl::StatusOr<std::unique_ptr<Service>> StartServer(TcpServerOptions tcp, const Limits& limits, const Clock& clock,
                                                     LinksOptions links) {
  tcp.detects_dead_peers = false;  // an idle client must outlive a cut of the network, as with PyTorch's own server
  return Service::Start(std::move(tcp), std::make_unique<StoreProtocol>(limits, std::move(links)), clock);
}

}  // namespace muster::torch_store
