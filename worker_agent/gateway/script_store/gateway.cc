// When the server ends a connection:
//
//   the client has closed its side, and all that it asked is answered
//   a line is longer than kMaxLineBytes
//   a line is not complete within kMaxLineTime of its first byte
//   the client takes nothing of the answer for kMaxStall
#include "worker_agent/gateway/script_store/gateway.h"

#include <optional>
#include <set>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "worker_agent/gateway/chassis/round_gateway.h"
#include "worker_agent/gateway/chassis/round_layout.h"
#include "worker_agent/gateway/chassis/socket_owner.h"
#include "worker_agent/gateway/chassis/tcp_service.h"
#include "worker_agent/gateway/script_store/operations.h"
#include "worker_agent/gateway/script_store/request.h"

namespace muster::script_store {
namespace {

constexpr size_t kConnectionsEach = 64;             // of a process; each of its threads that uses the store has one
constexpr size_t kMaxHeldBytes = size_t{64} << 20;  // all bytes of requests and answers, over all connections
constexpr absl::Duration kMaxLineTime = absl::Seconds(10);
constexpr absl::Duration kMaxStall = absl::Seconds(30);
constexpr size_t kReadAtOnce = 64 * 1024;

class Connection;

// The state that a round's connections share. It belongs to the server's thread.
struct Round {
  Operations* operations = nullptr;
  std::set<Connection*> connections;
  std::optional<std::string> end;  // the answer to all requests once the round is over
};

// One connection of a script. The script sends its next request after it has got the answer to the last one.
class Connection final : public TcpConnection {
 public:
  Connection(Stream stream, const TcpClient& client, Round& round, TcpServerContext& context);
  ~Connection() override;

  bool Serve() override;
  void CheckTimes() override;
  bool wants_read() const override { return !has_ended_ && !is_finished_ && input_.size() <= kMaxLineBytes; }
  bool wants_write() const override { return !output_.empty(); }
  bool has_work() const override { return is_waiting_ || wants_write(); }
  bool has_spoken() const override { return has_spoken_; }
  // Counts answers as well: a client that asks for much and does not read is cut off, like a client that sends much.
  size_t input_bytes() const override { return input_.size() + output_.size(); }

  // Call it when the round is over. Answers the waiting request, if any, with Round::end.
  void AnswerEnd();

 private:
  void Read();
  bool HasLine() const;  // true if a line is whole and may be answered now
  void TakeLine();
  void Say(std::string line);
  void Write();
  void Count();

  Round& round_;
  std::string input_;
  size_t counted_ = 0;  // this connection's share of context_.input_bytes
  MonotonicTime line_begun_at_;
  uint64_t number_ = 0;      // number of the last request
  bool is_waiting_ = false;  // true while the last request has no answer
  bool has_spoken_ = false;
  std::string output_;
  size_t written_ = 0;
  MonotonicTime moved_at_;  // when the client last took bytes of the answer
};

Connection::Connection(Stream stream, const TcpClient& client, Round& round, TcpServerContext& context)
    : TcpConnection(std::move(stream), client, context), round_(round) {
  round_.connections.insert(this);
}

Connection::~Connection() {
  round_.connections.erase(this);
  context_.input_bytes -= counted_;
}

bool Connection::Serve() {
  if (is_finished_ || opening_ != Opening::kOpen) return false;
  Write();
  if (wants_read()) Read();
  if (HasLine()) TakeLine();
  Write();
  Count();
  if (has_ended_ && !has_work() && !HasLine()) Finish("");
  return HasLine();
}

void Connection::Count() {
  context_.input_bytes += input_bytes() - counted_;
  counted_ = input_bytes();
}

bool Connection::HasLine() const {
  return !is_finished_ && !is_waiting_ && output_.empty() && input_.find('\n') != std::string::npos;
}

void Connection::Read() {
  std::string bytes;
  const Stream::Io io = stream_.Read(kReadAtOnce, bytes);
  if (io == Stream::Io::kClosed || io == Stream::Io::kFailed) has_ended_ = true;
  if (bytes.empty()) return;
  if (input_.empty()) line_begun_at_ = context_.now;
  input_ += bytes;
  if (input_.size() > kMaxLineBytes && input_.find('\n') == std::string::npos) {
    Finish(absl::StrCat("a line of a request has ", kMaxLineBytes, " bytes at most"));
  }
}

void Connection::TakeLine() {
  const size_t end = input_.find('\n');
  const absl::StatusOr<Request> request = ReadRequest(std::string_view(input_).substr(0, end));
  input_.erase(0, end + 1);
  line_begun_at_ = last_heard_ = context_.now;
  has_spoken_ = true;
  if (!request.ok()) return Say(ErrorLine(request.status()));
  if (round_.end) return Say(*round_.end);
  is_waiting_ = true;
  round_.operations->Handle(
      *request, [post = context_.post, id = client_.connection, number = ++number_](const std::string& line) {
        post(id, [line, number](TcpConnection& connection) {
          auto& own = static_cast<Connection&>(connection);
          if (own.is_waiting_ && own.number_ == number) own.Say(line);
        });
      });
}

void Connection::AnswerEnd() {
  if (!is_waiting_) return;
  Say(*round_.end);
  context_.touch(client_.connection);
}

void Connection::Say(std::string line) {
  is_waiting_ = false;
  output_ = std::move(line);
  written_ = 0;
  moved_at_ = context_.now;
  Count();
}

void Connection::Write() {
  while (!output_.empty() && !is_finished_) {
    if (written_ == output_.size()) return output_.clear();
    size_t done = 0;
    const Stream::Io io = stream_.Write(std::string_view(output_).substr(written_), &done);
    if (io == Stream::Io::kAgain) return;
    if (io != Stream::Io::kDone) return Finish("");
    written_ += done;
    moved_at_ = context_.now;
  }
}

void Connection::CheckTimes() {
  if (is_finished_) return;
  TcpConnection::CheckTimes();
  const bool is_reading = !is_waiting_ && output_.empty();
  if (is_reading && !input_.empty() && context_.now - line_begun_at_ > kMaxLineTime) {
    Finish("it has begun a line and has not finished it in time");
  } else if (!output_.empty() && context_.now - moved_at_ > kMaxStall) {
    Finish("it does not read its answer");
  }
}

class Protocol final : public TcpProtocol {
 public:
  Protocol(JobStore& store, const Clock& clock, const absl::StatusOr<agent::TaskLayout>& layout)
      : operations_(
            store, clock, [poster = poster_](std::function<void()> step) { (*poster)(std::move(step)); }, layout) {
    round_.operations = &operations_;
  }

  // Call it before the first connection.
  void SetPoster(agent::Post poster) { *poster_ = std::move(poster); }

  void EndRound(const std::string& why) {
    if (round_.end) return;
    round_.end = ErrorLine(absl::FailedPreconditionError(why.empty() ? "the round is over" : why));
    for (Connection* connection : round_.connections) connection->AnswerEnd();
  }

  const Words& words() const override {
    static const auto* const words = new Words{
        .name = "the job's store for scripts",
        .thread = "ms-store",
        .without_tls = "the store does not use TLS; see what connects to MUSTER_STORE",
        .with_tls = "",
    };
    return *words;
  }
  std::unique_ptr<TcpConnection> Accept(Stream stream, const TcpClient& client, const std::string& /*own_address*/,
                                        TcpServerContext& context) override {
    return std::make_unique<Connection>(std::move(stream), client, round_, context);
  }
  void Closed(const TcpClient& /*client*/) override {}
  size_t MaxInputBytes() const override { return kMaxHeldBytes; }
  void Tick() override { operations_.Tick(); }
  bool HasTimers() const override { return operations_.IsBusy(); }

 private:
  // Shared, because pending store calls keep it for a while.
  const std::shared_ptr<agent::Post> poster_ = std::make_shared<agent::Post>();
  Operations operations_;
  Round round_;
};

using Service = agent::TcpService<Protocol>;

// Returns the round's workers. The error says why there are no barriers.
absl::StatusOr<agent::TaskLayout> Workers(const agent::GatewayRound& round) {
  if (round.assignment.role() != v1::ROLE_WORKER) {
    return absl::UnimplementedError("they are for workers, and this is a parameter server");
  }
  if (round.peers == nullptr) {
    return absl::UnimplementedError(
        "beyond 1,024 ranks an agent knows the other ranks only with --mindspore_gateway on: set it on every node");
  }
  const absl::StatusOr<agent::RoundLayout> layout = agent::LayoutOf(round);
  if (!layout.ok()) return layout.status();
  return agent::TasksOf(*layout);
}

class ScriptStoreGateway final : public agent::RoundGateway<Service> {
 public:
  ScriptStoreGateway(JobStore& store, const Clock& clock) : store_(store), clock_(clock) {}

  void AddTo(agent::EnvironmentInput& input) const override { input.script_store_port = port_; }
  // The server stays until the round's processes are gone. So they get the reason as an answer instead of a broken
  // connection.
  void WhyOver(const std::string& why) override {
    if (server() != nullptr) server()->Post([why](Protocol& protocol) { protocol.EndRound(why); });
  }

 private:
  absl::StatusOr<std::unique_ptr<Service>> ServerFor(const agent::GatewayRound& round) override {
    const auto slots = static_cast<size_t>(round.assignment.slots_size());
    absl::StatusOr<std::unique_ptr<Service>> service =
        Service::Start(agent::OnlyForThisUser(kConnectionsEach * slots),
                       std::make_unique<Protocol>(store_, clock_, Workers(round)), clock_);
    if (!service.ok()) return service.status();
    (*service)->protocol().SetPoster((*service)->Poster());
    const absl::StatusOr<uint16_t> port = (*service)->ListenOnLoopback(0);
    if (!port.ok()) return port.status();
    port_ = *port;
    return service;
  }

  JobStore& store_;
  const Clock& clock_;
  uint16_t port_ = 0;
};

}  // namespace

std::unique_ptr<agent::Gateway> MakeGateway(JobStore& store, const Clock& clock) {
  return std::make_unique<ScriptStoreGateway>(store, clock);
}

}  // namespace muster::script_store
