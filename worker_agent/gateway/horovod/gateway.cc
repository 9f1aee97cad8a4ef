// When the server ends a connection by itself:
//
//   no whole request within kMaxRequestTime       after the answer 408, or without one if nothing has come
//   a request that is refused (request.h)         after an answer with its status
//   the answer is sent                            once the client has closed, or kMaxGoodbyeTime later
//   the client takes no bytes for kMaxStall       at once
#include "worker_agent/gateway/horovod/gateway.h"

#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "worker_agent/gateway/chassis/round_gateway.h"
#include "worker_agent/gateway/chassis/socket_owner.h"
#include "worker_agent/gateway/chassis/tcp_service.h"
#include "worker_agent/gateway/horovod/rendezvous.h"
#include "worker_agent/gateway/horovod/request.h"

namespace muster::horovod {
namespace {

constexpr size_t kConnectionsEach = 16;  // of a slot; a process has one at a time
constexpr size_t kMaxInputBytes = size_t{16} << 20;
constexpr absl::Duration kMaxRequestTime = absl::Seconds(10);
constexpr absl::Duration kMaxStall = absl::Seconds(10);
constexpr absl::Duration kMaxGoodbyeTime = absl::Seconds(1);
constexpr size_t kReadAtOnce = 16 * 1024;
constexpr size_t kMaxDiscarded = 256 * 1024;

const char* PhraseOf(int status) {
  if (status == 200) return "OK";
  return status == 404 ? "Not Found" : status < 500 ? "Bad Request" : "Service Unavailable";
}

// One request and its answer. Then the connection closes, as Horovod's own server does it.
class Connection final : public TcpConnection {
 public:
  Connection(Stream stream, const TcpClient& client, Rendezvous& rendezvous, TcpServerContext& context)
      : TcpConnection(std::move(stream), client, context), rendezvous_(rendezvous), since_(context.now) {}
  ~Connection() override { context_.input_bytes -= counted_; }

  bool Serve() override;
  void CheckTimes() override;
  bool wants_read() const override;
  bool wants_write() const override { return step_ == Step::kAnswering; }
  bool has_work() const override { return step_ == Step::kWaiting || step_ == Step::kAnswering; }
  bool has_spoken() const override { return step_ != Step::kReading; }
  size_t input_bytes() const override { return reader_.buffered(); }

 private:
  enum class Step { kReading, kWaiting, kAnswering, kClosing };

  void Read();
  void Say(const Answer& answer);
  void Write();
  void Go(Step step);

  Rendezvous& rendezvous_;
  RequestReader reader_;
  Step step_ = Step::kReading;
  MonotonicTime since_;  // the start of this step; while answering, of the last progress
  size_t counted_ = 0;   // this connection's share of context_.input_bytes
  size_t discarded_ = 0;
  std::string output_;
  size_t written_ = 0;
};

bool Connection::wants_read() const {
  return !has_ended_ && !is_finished_ && (step_ == Step::kReading || step_ == Step::kClosing);
}

void Connection::Go(Step step) {
  step_ = step;
  since_ = context_.now;
}

bool Connection::Serve() {
  if (is_finished_ || opening_ != Opening::kOpen) return false;
  Write();
  if (wants_read()) Read();
  Write();
  context_.input_bytes += reader_.buffered() - counted_;
  counted_ = reader_.buffered();
  if (has_ended_ && (step_ == Step::kReading || step_ == Step::kClosing)) Finish("");
  return false;
}

void Connection::Read() {
  std::string bytes;
  const Stream::Io io = stream_.Read(kReadAtOnce, bytes);
  if (io == Stream::Io::kClosed || io == Stream::Io::kFailed) has_ended_ = true;
  if (step_ == Step::kClosing) {
    // Reads and drops what the client still sends: closing with unread bytes would make the kernel discard the answer.
    discarded_ += bytes.size();
    if (discarded_ > kMaxDiscarded) Finish("");
    return;
  }
  if (bytes.empty()) return;
  switch (reader_.Read(bytes)) {
    case RequestReader::State::kNeedsMore:
      return;
    case RequestReader::State::kBad:
      context_.counted->Note(Severity::kWarning, "Horovod's rendezvous: bad request",
                             absl::StrCat("a request to Horovod's rendezvous was answered with ", reader_.status(),
                                          ": see what connects to HOROVOD_GLOO_RENDEZVOUS_PORT"));
      return Say({reader_.status(), ""});
    case RequestReader::State::kWhole:
      break;
  }
  last_heard_ = context_.now;
  Go(Step::kWaiting);
  rendezvous_.Handle(client_.listener, reader_.request(),
                     [post = context_.post, id = client_.connection](Answer answer) {
                       post(id, [answer = std::move(answer)](TcpConnection& connection) {
                         static_cast<Connection&>(connection).Say(answer);
                       });
                     });
}

void Connection::Say(const Answer& answer) {
  output_ = absl::StrCat("HTTP/1.1 ", answer.status, " ", PhraseOf(answer.status),
                         "\r\nContent-Type: application/octet-stream\r\nContent-Length: ", answer.body.size(),
                         "\r\nConnection: close\r\n\r\n", answer.body);
  Go(Step::kAnswering);
}

void Connection::Write() {
  while (step_ == Step::kAnswering && !is_finished_) {
    if (written_ == output_.size()) {
      stream_.EndWriting();
      return Go(Step::kClosing);
    }
    size_t done = 0;
    const Stream::Io io = stream_.Write(std::string_view(output_).substr(written_), &done);
    if (io == Stream::Io::kAgain) return;
    if (io != Stream::Io::kDone) return Finish("");
    written_ += done;
    since_ = context_.now;
  }
}

void Connection::CheckTimes() {
  if (is_finished_) return;
  TcpConnection::CheckTimes();
  const absl::Duration since = context_.now - since_;
  if (step_ == Step::kReading && since > kMaxRequestTime) {
    if (reader_.buffered() == 0) return Finish("");
    Say({408, ""});
  } else if (step_ == Step::kAnswering && since > kMaxStall) {
    Finish("it does not read its answer");
  } else if (step_ == Step::kClosing && since > kMaxGoodbyeTime) {
    Finish("");
  }
}

class Protocol final : public TcpProtocol {
 public:
  // Both must outlive this and its pending calls to the store.
  Protocol(JobStore& store, const Clock& clock) : rendezvous_(store, clock) {}

  const Words& words() const override {
    static const auto* const words = new Words{
        .name = "Horovod's rendezvous",
        .thread = "ms-horovod",
        .without_tls = "Horovod does not use TLS; see what connects to HOROVOD_GLOO_RENDEZVOUS_PORT",
        .with_tls = "",
    };
    return *words;
  }
  std::unique_ptr<TcpConnection> Accept(Stream stream, const TcpClient& client, const std::string& /*own_address*/,
                                        TcpServerContext& context) override {
    return std::make_unique<Connection>(std::move(stream), client, rendezvous_, context);
  }
  void Closed(const TcpClient& /*client*/) override {}
  size_t MaxInputBytes() const override { return kMaxInputBytes; }

 private:
  Rendezvous rendezvous_;  // belongs to the server's thread
};

using Service = agent::TcpService<Protocol>;

class HorovodGateway final : public agent::RoundGateway<Service> {
 public:
  HorovodGateway(JobStore& store, const Clock& clock) : store_(store), clock_(clock) {}

  void AddTo(agent::EnvironmentInput& input) const override { input.horovod_port = ports_[input.slot]; }
  void Over(uint64_t /*run*/, uint32_t /*round*/) override { End(); }

 private:
  absl::StatusOr<std::unique_ptr<Service>> ServerFor(const agent::GatewayRound& round) override {
    ports_.clear();
    const auto slots = static_cast<uint32_t>(round.assignment.slots_size());
    absl::StatusOr<std::unique_ptr<Service>> service = Service::Start(
        agent::OnlyForThisUser(kConnectionsEach * slots), std::make_unique<Protocol>(store_, clock_), clock_);
    for (uint32_t slot = 0; service.ok() && slot < slots; ++slot) {
      const absl::StatusOr<uint16_t> port = (*service)->ListenOnLoopback(0, slot);
      if (!port.ok()) return port.status();
      ports_.push_back(*port);
    }
    return service;
  }
  absl::Status BeginAgain() override { return agent::NoneStartsAlone("a Horovod"); }

  JobStore& store_;
  const Clock& clock_;
  std::vector<uint16_t> ports_;  // by slot: the port shows which process asks
};

}  // namespace

std::unique_ptr<agent::Gateway> MakeGateway(JobStore& store, const Clock& clock) {
  return std::make_unique<HorovodGateway>(store, clock);
}

}  // namespace muster::horovod
