// Any records that a journal may return: the scheduler recovers from them or refuses, and goes on. The input is a list
// of records, each after its length; then time passes.
#include <google/protobuf/stubs/logging.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "common/base/check.h"
#include "scheduler/core/core.h"
#include "tests/fuzz/input.h"

namespace muster::scheduler {
namespace {

constexpr int kMaxDeadlines = 200;

// The next events: the nodes of the corpus's records come back, and a user looks.
std::vector<Event> Visits() {
  std::vector<Event> events;
  for (uint64_t node = 0; node < 2; ++node) {
    JoinRequested join{node + 1, {}, "10.0.0.1", ""};
    join.join.set_job_id("j");
    join.join.set_run(1);
    join.join.set_node_id(std::to_string(node));
    join.join.set_incarnation(node + 7);
    join.join.set_connect_seq(1);
    join.join.mutable_node()->set_role(v1::ROLE_WORKER);
    join.join.mutable_node()->add_slots();
    events.emplace_back(join);
  }
  events.emplace_back(QueryReceived{1, v1::StatusRequest()});
  events.emplace_back(QueryReceived{2, v1::NodesRequest()});
  events.emplace_back(QueryReceived{3, v1::EventsRequest()});
  v1::RanksRequest ranks;
  ranks.set_job_id("j");
  events.emplace_back(QueryReceived{4, ranks});
  ReportReceived report{1, {}};
  events.emplace_back(report);
  events.emplace_back(StreamClosed{2});
  return events;
}

void Play(FuzzInput input) {
  Core core({}, "fuzz");
  while (!input.IsAtEnd()) {
    v1::Record record;
    if (!record.ParseFromString(input.Text()) || record.kind_case() == v1::Record::KIND_NOT_SET) return;
    core.Recover(record);
  }
  if (const absl::Status checked = core.CheckRecovered(); !checked.ok()) {
    MUSTER_CHECK(checked.message().size() > 30, "a refusal says what to do");
    return;
  }
  Now now{MonotonicTime::FromNanoseconds(1), {1'800'000'000'000}};
  const Effects started = core.Start(now);
  MUSTER_CHECK(!started.empty(), "a term begins");
  static const std::vector<Event>* const visits = new std::vector<Event>(Visits());
  for (const Event& event : *visits) core.Apply(event, now);
  core.CheckInvariants();
  for (int i = 0; i < kMaxDeadlines && !core.NextDeadline().is_never(); ++i) {
    now.monotonic = std::max(now.monotonic, core.NextDeadline());
    core.Apply(Tick{}, now);
  }
  core.CheckInvariants();
}

}  // namespace
}  // namespace muster::scheduler

extern "C" int LLVMFuzzerInitialize(int* /*argc*/, char*** /*argv*/) {
  google::protobuf::SetLogHandler(nullptr);  // as in ms-scheduler
  return 0;
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  muster::scheduler::Play(muster::FuzzInput(data, size));
  return 0;
}
