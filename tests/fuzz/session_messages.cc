// Messages of agents, keepers and ms-ctl: bytes become messages, pass the service's checks and go to the core, while
// streams break, time passes and the scheduler crashes. After each step the invariants must hold, nothing may be sent
// to a stream that does not exist, and the persisted records must give the whole state.
//
// The input is a list of steps: one byte (four bits for the kind, four bits for the sender), then the step's data.
#include <google/protobuf/stubs/logging.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "common/base/check.h"
#include "common/base/limits.h"
#include "scheduler/core/core.h"
#include "scheduler/rpc/validation.h"
#include "tests/fuzz/input.h"

namespace muster::scheduler {
namespace {

constexpr int kMaxSteps = 400;
constexpr int kMaxCrashes = 4;
constexpr size_t kMaxMessageBytes = 4 << 20;  // gRPC's own limit, which also applies to what an agent receives

CoreOptions Options() {
  CoreOptions options;
  options.lease = absl::Seconds(20);
  options.topo_timeout = absl::Seconds(60);
  return options;
}

class Service {
 public:
  Service() : core_(std::make_unique<Core>(Options(), "fuzz")) { Take(core_->Start(TimeNow())); }

  void Step(FuzzInput& input) {
    const uint8_t first = input.Byte();
    const size_t who = first & 15;
    switch (first >> 4) {
      case 8:
        return Break(who);
      case 9:
        return LastReport(input.Text());
      case 10:
        return Admin(who, input.Text());
      case 11:
        now_ += absl::Milliseconds(uint64_t{input.U16()} << who);
        return Apply(Tick{});
      case 12:
        return Apply(LoopWasLate{absl::Milliseconds(input.U16())});
      case 13:
        return Crash(who % 2 == 0);
      case 14:
        return Apply(DrainRequested{who % 2 == 1});
      default:
        return Message(who, input.Text());
    }
  }

  // Checks that the persisted records give the whole state.
  void Compare() const {
    Core second(Options(), "second");
    for (const v1::Record& record : records_) second.Recover(record);
    MUSTER_CHECK(second.DebugState() == core_->DebugState(), "the records are the state");
  }

 private:
  struct Stream {
    StreamId id = 0;  // 0: none
    bool is_open = false;
  };

  Now TimeNow() const {
    return {MonotonicTime::FromNanoseconds(1) + now_, {1'800'000'000'000 + now_ / absl::Milliseconds(1)}};
  }

  // Does what Session does. A new kind of message must be added here.
  void Message(size_t who, const std::string& bytes) {
    v1::AgentMessage message;
    if (bytes.size() > kMaxSessionMessageBytes || !message.ParseFromString(bytes)) return Break(who);
    Stream& stream = streams_[who];
    if (message.has_join() == stream.is_open) return Break(who);
    switch (message.kind_case()) {
      case v1::AgentMessage::kJoin: {
        if (!CheckJoin(message.join()).ok()) return;
        stream = {++last_stream_, true};
        return Apply(JoinRequested{stream.id, message.join(), "10.0.0.1", ""});
      }
      case v1::AgentMessage::kReport:
        if (!CheckReport(message.report()).ok()) return Break(who);
        // Half of the reports without news come as datagrams.
        if (message.report().events().empty() && message.report().heartbeat_seq() % 2 == 1) {
          return Apply(
              HeartbeatReceived{stream.id, message.report().heartbeat_seq(), message.report().armed_fence_ms()});
        }
        return Apply(ReportReceived{stream.id, message.report()});
      case v1::AgentMessage::kProbeAnswer:
        return Apply(ProbeAnswered{stream.id, message.probe_answer().probe()});
      case v1::AgentMessage::kLogLines:
        if (!CheckLogLines(message.log_lines()).ok()) return Break(who);
        return Apply(LogLinesReceived{stream.id, message.log_lines()});
      case v1::AgentMessage::kStackTraces:
        if (!CheckStackTraces(message.stack_traces()).ok()) return Break(who);
        return Apply(StackTracesReceived{stream.id, message.stack_traces()});
      case v1::AgentMessage::KIND_NOT_SET:
        return Break(who);
    }
  }

  void Break(size_t who) {
    const StreamId id = std::exchange(streams_[who], {}).id;
    if (id != 0) Apply(StreamClosed{id});
  }

  void LastReport(const std::string& bytes) {
    v1::LastReportRequest last_report;
    if (last_report.ParseFromString(bytes) && CheckLastReport(last_report).ok())
      Apply(LastReportReceived{last_report, NewQuery(), ""});
  }

  template <typename Received, typename Request>
  void Ask(const std::string& bytes) {
    Request request;
    if (request.ParseFromString(bytes) && CheckRequest(request).ok()) Apply(Received{NewQuery(), request});
  }

  void Admin(size_t which, const std::string& bytes) {
    switch (which) {
      case 0:
        return Ask<QueryReceived, v1::StatusRequest>(bytes);
      case 1:
        return Ask<QueryReceived, v1::NodesRequest>(bytes);
      case 2:
        return Ask<QueryReceived, v1::RanksRequest>(bytes);
      case 3:
        return Ask<QueryReceived, v1::EventsRequest>(bytes);
      case 4:
        return Ask<StopRequested, v1::StopRequest>(bytes);
      case 5:
        return Ask<SteerRequested, v1::SteerRequest>(bytes);
      case 6:
        return Ask<StacksRequested, v1::StacksRequest>(bytes);
      case 7:
        return Ask<LogsRequested, v1::LogsRequest>(bytes);
      default:
        return Apply(Tick{});
    }
  }

  void Crash(bool has_snapshot) {
    if (++crashes_ > kMaxCrashes) return;
    if (has_snapshot) records_.assign(1, core_->TakeSnapshot());
    streams_.fill({});
    core_ = std::make_unique<Core>(Options(), "other");
    for (const v1::Record& record : records_) core_->Recover(record);
    Take(core_->Start(TimeNow()));
  }

  QueryId NewQuery() { return ++last_query_; }

  void Apply(const Event& event) { Take(core_->Apply(event, TimeNow())); }

  void Take(const Effects& effects) {
    for (const Effect& effect : effects) {
      if (const auto* persist = std::get_if<Persist>(&effect)) records_.push_back(persist->record);
      if (const auto* send = std::get_if<Send>(&effect)) {
        MUSTER_CHECK(Find(send->stream) != nullptr, "a message to a stream that is open");
        MUSTER_CHECK(send->message->ByteSizeLong() <= kMaxMessageBytes, "a message that its agent takes");
      }
      if (const auto* close = std::get_if<CloseStream>(&effect)) {
        Stream* stream = Find(close->stream);
        MUSTER_CHECK(stream != nullptr, "a stream is closed once");
        *stream = {};
      }
      if (const auto* answer = std::get_if<Answer>(&effect)) {
        MUSTER_CHECK(answer->query > 0 && answer->query <= last_query_, "an answer to a question");
      }
    }
    core_->CheckInvariants();
  }

  Stream* Find(StreamId id) {
    for (Stream& stream : streams_) {
      if (id != 0 && stream.id == id) return &stream;
    }
    return nullptr;
  }

  std::unique_ptr<Core> core_;
  std::array<Stream, 16> streams_;
  std::vector<v1::Record> records_;
  absl::Duration now_ = absl::Seconds(100);
  StreamId last_stream_ = 0;
  QueryId last_query_ = 0;
  int crashes_ = 0;
};

}  // namespace
}  // namespace muster::scheduler

extern "C" int LLVMFuzzerInitialize(int* /*argc*/, char*** /*argv*/) {
  google::protobuf::SetLogHandler(nullptr);  // as in ms-scheduler
  return 0;
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  muster::FuzzInput input(data, size);
  muster::scheduler::Service service;
  for (int i = 0; i < muster::scheduler::kMaxSteps && !input.IsAtEnd(); ++i) service.Step(input);
  service.Compare();
  return 0;
}
