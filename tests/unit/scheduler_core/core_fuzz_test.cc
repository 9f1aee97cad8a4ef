// Any events in any order: no invariant breaks, nothing is sent to a missing stream, and the persisted records give the
// whole state. All events pass validation, but many are such that no honest agent would send them.
#include <gtest/gtest.h>

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <limits>
#include <map>
#include <random>
#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "scheduler/core/core.h"
#include "tests/unit/scheduler_core/run_builder.h"

namespace muster::scheduler {
namespace {

class Storm {
 public:
  explicit Storm(unsigned seed) : random_(seed), has_loopback_(seed % 5 == 0) {
    if (Chance(50)) options_.own.rules.set_worker_num(1 + Pick(5));
    if (Chance(10)) options_.own.rules.set_hccl_cm_init(true);
    if (Chance(10)) options_.own.rules.set_server_num(1);
    if (Chance(50)) options_.own.rules.set_enable_recovery(true);
    if (Chance(40)) options_.own.rules.set_max_restarts(Pick(8));
    if (Chance(40)) options_.own.rules.set_restart_scope("worker");
    if (Chance(60)) options_.own.rules.set_progress_timeout_ms(4000);
    if (Chance(30)) options_.fence_timeout = absl::Seconds(45);
    options_.is_once = Chance(10);
    options_.lease = absl::Seconds(20);
    options_.topo_timeout = absl::Seconds(60);
    core_ = std::make_unique<Core>(options_, "c");
    Take(core_->Start(TimeNow()));
  }

  void Step() {
    if (Chance(1)) return Restart();
    Take(core_->Apply(Draw(), TimeNow()));
  }

  std::string problem;
  std::map<std::string, int> seen;  // how often the core reached each state: a test that reaches none proves nothing

 private:
  bool Chance(unsigned percent) { return random_() % 100 < percent; }
  uint32_t Pick(uint32_t count) { return static_cast<uint32_t>(random_() % count); }
  Now TimeNow() const { return {At(100) + now_, {1'700'000'000'000 + absl::ToInt64Milliseconds(now_)}}; }
  std::string JobId() { return Chance(85) ? "red" : "blue"; }
  uint64_t AnyStream() {
    return last_stream_ == 0 ? 1 : last_stream_ - Pick(static_cast<uint32_t>(std::min<uint64_t>(last_stream_, 12)));
  }

  Event Draw() {
    now_ += absl::Milliseconds(Chance(90) ? Pick(1500) : Pick(15'000));
    const uint32_t dice = Pick(100);
    if (asked_ != 0 && dice < 50) return DrawTraces();
    if (dice < 35) return DrawJoin();
    if (dice < 37) return DrawHeartbeat();
    if (dice < 70) return DrawReport();
    if (dice < 78) return DrawClose();
    if (dice < 81) return ProbeAnswered{AnyStream(), 1 + Pick(6)};
    if (dice < 84) return DrawLastReport();
    if (dice < 86) return LoopWasLate{absl::Seconds(Pick(30))};
    if (dice < 88) return DrawQuery();
    if (dice < 89) return StopRequested{1, DrawStop()};
    if (dice < 92) return SteerRequested{1, DrawSteer()};
    if (dice < 93) return DrawStacks();
    if (dice < 94) return DrawTraces();
    if (dice < 95 && Chance(10)) return DrainRequested{Chance(50)};
    if (dice < 99 && !joined_.empty()) return DrawStore();
    return Tick{};
  }

  uint32_t Round() { return Chance(95) ? last_round_ : Pick(3); }

  v1::SteerRequest DrawSteer() {
    v1::SteerRequest request;
    request.set_job_id(JobId());
    request.set_action(static_cast<v1::SteerRequest::Action>(1 + Pick(4)));
    request.set_node_id(DrawNodeId());
    return request;
  }

  Event DrawStacks() {
    StacksRequested event{1, {}};
    event.request.set_job_id(JobId());
    for (uint32_t i = Pick(3); i > 0; --i) event.request.add_ranks(Pick(4));
    return event;
  }

  Event DrawTraces() {
    StackTracesReceived event;
    event.stream = Chance(80) ? std::exchange(asked_, 0) : AnyStream();
    event.traces.set_query(Chance(80) ? last_query_ : Pick(40));
    event.traces.add_stacks()->set_slot(Pick(3));
    event.traces.mutable_stacks(0)->set_text("a stack");
    return event;
  }

  template <typename Request>
  Request StoreRequest() {
    const v1::NodeJoined& joined =
        joined_[joined_.size() - 1 - Pick(static_cast<uint32_t>(std::min<size_t>(joined_.size(), 4)))];
    Request request;
    request.mutable_caller()->set_job_id(joined.job_id());
    request.mutable_caller()->set_run(joined.run());
    request.mutable_caller()->set_round(Round());
    request.mutable_caller()->set_node_id(joined.node_id());
    request.mutable_caller()->set_incarnation(joined.incarnation());
    request.set_key(absl::StrCat("k", Pick(3)));
    if constexpr (requires { request.set_number(0); }) request.set_number(Pick(6));
    if constexpr (requires { request.set_lifetime(v1::LIFETIME_RUN); }) {
      request.set_lifetime(Chance(50) ? v1::LIFETIME_RUN : v1::LIFETIME_ROUND);
    }
    return request;
  }

  Event DrawStore() {
    StoreRequested event{1, StoreRequest<v1::StoreGet>(), ""};
    switch (Pick(6)) {
      case 0: {
        auto set = StoreRequest<v1::StoreSet>();
        set.set_value(absl::StrCat(Pick(4)));
        event.operation = std::move(set);
        break;
      }
      case 1: {
        auto add = StoreRequest<v1::StoreAdd>();
        add.set_delta(Chance(80) ? static_cast<int64_t>(Pick(9)) - 4 : std::numeric_limits<int64_t>::max());
        event.operation = std::move(add);
        break;
      }
      case 2: {
        auto swap = StoreRequest<v1::StoreCompareAndSet>();
        if (Chance(60)) swap.set_expected(absl::StrCat(Pick(4)));
        swap.set_desired(Chance(80) ? absl::StrCat(Pick(4)) : "word");
        event.operation = std::move(swap);
        break;
      }
      case 3: {
        auto wait = StoreRequest<v1::StoreWait>();
        wait.set_limit_ms(Pick(5001));
        event.operation = std::move(wait);
        break;
      }
      case 4:
        event.operation = StoreRequest<v1::StoreDelete>();
        break;
      default:
        break;
    }
    return event;
  }

  v1::StopRequest DrawStop() {
    v1::StopRequest request;
    request.set_job_id(JobId());
    request.set_run(Chance(80) ? 0 : Pick(4));
    return request;
  }

  Event DrawQuery() {
    if (Chance(40)) return QueryReceived{1, v1::StatusRequest()};
    if (Chance(50)) return QueryReceived{1, v1::NodesRequest()};
    v1::RanksRequest ranks;
    ranks.set_job_id(JobId());
    ranks.set_offset(Pick(3));
    return QueryReceived{1, ranks};
  }

  std::string DrawNodeId() {
    switch (Pick(8)) {
      case 0:
        return "";
      case 1:
      case 2:
        return absl::StrCat("n", Pick(5));
      case 3:
        return absl::StrCat("0", Pick(6));
      default:
        return absl::StrCat(Pick(8));
    }
  }

  Event DrawJoin() {
    JoinRequested event;
    event.stream = ++last_stream_;
    open_.insert(event.stream);
    event.peer_address = absl::StrCat("10.0.0.", Pick(5));
    v1::Join& join = event.join;
    join.set_job_id(JobId());
    join.set_node_id(DrawNodeId());
    join.set_incarnation(Chance(60) ? ++last_incarnation_ : 1 + Pick(static_cast<uint32_t>(last_incarnation_ + 1)));
    last_incarnation_ = std::max<uint64_t>(last_incarnation_, join.incarnation());
    join.set_connect_seq(1 + Pick(4));
    if (Chance(25)) join.set_run(1 + Pick(3));
    if (Chance(70)) join.mutable_settings()->set_worker_num(Chance(85) ? 3 : Pick(6));
    if (Chance(10)) join.mutable_settings()->set_server_num(Pick(3));
    if (Chance(10)) join.mutable_settings()->set_topo_timeout_ms(Chance(50) ? -1 : 5000);
    v1::NodeInfo& info = *join.mutable_node();
    info = InfoOf({.id = join.node_id(),
                   .slots = Chance(75) ? 1 : 1 + static_cast<int>(Pick(3)),
                   .machine = absl::StrCat("m", Pick(3)),
                   .address = Chance(50) ? "" : absl::StrCat("10.0.1.", Pick(4)),
                   .role = Chance(92) ? v1::ROLE_WORKER : v1::ROLE_SERVER});
    info.set_spare(Chance(15));
    if (Chance(12)) info.set_node_rank(Pick(4));
    for (uint32_t i = Chance(12) ? 1 + Pick(3) : 0; i > 0; --i) info.add_table_ranks(Pick(5));
    if (Chance(10)) info.set_wanted_master_address(absl::StrCat("10.0.1.", Pick(5)));
    if (has_loopback_) {
      if (Chance(12)) event.peer_address = "127.0.0.1";
      if (Chance(4)) info.set_address("127.0.0.1");
      if (Chance(30)) event.reached_at = "10.0.0.9";
    }
    return event;
  }

  Event DrawHeartbeat() { return HeartbeatReceived{AnyStream(), Pick(100), Chance(80) ? 0 : Pick(100'000)}; }

  Event DrawReport() {
    ReportReceived event;
    event.stream = AnyStream();
    event.report.set_heartbeat_seq(Pick(100));
    event.report.set_is_settled(Chance(20));
    event.report.set_progress_round(Round());
    for (uint32_t i = Chance(40) ? Pick(3) : 0; i > 0; --i) {
      v1::SlotProgress& progress = *event.report.add_progress();
      progress.set_slot(Pick(4));
      if (Chance(80)) progress.set_step(Pick(9));
      progress.set_since_progress_ms(Pick(20'000));
    }
    if (Chance(25)) {  // everything has ended well
      for (uint32_t i = 0; i < 9; ++i) {
        event.report.add_events()->set_number(i + 1);
        event.report.mutable_events(static_cast<int>(i))->mutable_ended()->set_round(last_round_);
        event.report.mutable_events(static_cast<int>(i))->mutable_ended()->set_slot(i % 3);
      }
      return event;
    }
    uint64_t number = Chance(80) ? 1 : Pick(5);
    for (uint32_t i = Pick(4); i > 0; --i) {
      v1::NodeEvent& fact = *event.report.add_events();
      fact.set_number(++number - (Chance(50) ? 1 : 0));
      fact.set_age_ms(Pick(3000));
      if (Chance(40)) {
        fact.mutable_started()->set_round(Round());
        fact.mutable_started()->set_slot(Pick(3));
      } else if (Chance(25)) {
        fact.mutable_quit()->set_round(Round());
      } else if (Chance(93)) {
        v1::ProcessEnded& ended = *fact.mutable_ended();
        ended.set_round(Round());
        ended.set_slot(Pick(3));
        if (Chance(20)) ended.set_exit_code(1 + static_cast<int>(Pick(3)));
        if (ended.exit_code() == 0 && Chance(20)) ended.set_signal(9);
        ended.set_was_stopped(Chance(15));
        if (Chance(3)) ended.set_attempt(1);
      } else {
        fact.mutable_leaving()->set_signal(Chance(50) ? 15 : 0);
        fact.mutable_leaving()->set_is_quiet(Chance(70));
      }
    }
    return event;
  }

  Event DrawClose() {
    const StreamId stream = AnyStream();
    open_.erase(stream);
    return StreamClosed{stream};
  }

  Event DrawLastReport() {
    LastReportReceived event;
    event.last_report.set_cluster_id("c");
    event.last_report.set_job_id(JobId());
    event.last_report.set_run(1 + Pick(4));
    event.last_report.set_node_id(DrawNodeId());
    event.last_report.set_incarnation(1 + Pick(static_cast<uint32_t>(last_incarnation_ + 1)));
    event.last_report.set_signal(Chance(50) ? 9 : 0);
    return event;
  }

  void Restart() {
    open_.clear();
    core_ = std::make_unique<Core>(options_, "other");
    for (const v1::Record& record : records_) core_->Recover(record);
    Take(core_->Start(TimeNow()));
  }

  void Take(const Effects& effects) {
    for (const Effect& effect : effects) {
      if (const auto* persist = std::get_if<Persist>(&effect)) Note(persist->record);
      const auto* send = std::get_if<Send>(&effect);
      if (send != nullptr && !open_.contains(send->stream)) {
        problem = absl::StrCat("a message on closed stream ", send->stream, ": ", send->message->ShortDebugString());
      }
      if (send != nullptr && send->message->has_stack_query()) {
        asked_ = send->stream;
        last_query_ = send->message->stack_query().query();
      }
      const auto* answer = std::get_if<Answer>(&effect);
      if (answer != nullptr && answer->status.ok() && std::holds_alternative<v1::StacksReply>(answer->reply)) {
        ++seen["stacks"];
      }
      if (answer != nullptr && std::holds_alternative<v1::StoreReply>(answer->reply)) {
        ++seen[absl::StrCat("store ", absl::StatusCodeToString(answer->status.code()))];
      }
      if (send != nullptr && send->message->has_refusal()) {
        ++seen[v1::Refusal::Reason_Name(send->message->refusal().reason())];
      }
      if (const auto* close = std::get_if<CloseStream>(&effect); close != nullptr && open_.erase(close->stream) == 0) {
        problem = absl::StrCat("stream ", close->stream, " was closed twice");
      }
    }
    core_->CheckInvariants();
    if (++steps_ % 8 != 0) return;  // its cost grows with the number of records
    Core second(options_, "second");
    for (const v1::Record& record : records_) second.Recover(record);
    if (second.DebugState() != core_->DebugState()) problem = "the records are not the state";
  }

  void Note(const v1::Record& record) {
    records_.push_back(record);
    if (std::getenv("MUSTER_FUZZ_SEED") != nullptr) std::fprintf(stderr, "%s\n", record.ShortDebugString().c_str());
    ++seen[absl::StrCat("record ", record.kind_case())];
    if (record.has_round_closed()) last_round_ = record.round_closed().round();
    if (record.round_closed().promoted_spares_size() > 0) ++seen["promoted"];
    if (record.round_closed().replacements_size() > 0) ++seen["replaced"];
    if (record.round_closed().round() > 1) ++seen["formed again"];
    if (record.has_round_aborted()) ++seen[v1::Cause::Kind_Name(record.round_aborted().first().kind())];
    if (record.has_slot_restarted()) ++seen["restarted alone"];
    if (record.has_node_joined()) joined_.push_back(record.node_joined());
    if (record.has_store_changed()) ++seen["store changed"];
    if (record.node_lost().why() == v1::NodeRemoved::DRAINED) ++seen["drained"];
    if (record.run_ended().outcome().succeeded()) ++seen["succeeded"];
    if (record.node_removed().why() != 0) ++seen[v1::NodeRemoved::Why_Name(record.node_removed().why())];
    if (record.run_ended().outcome().has_cause()) {
      ++seen[v1::Cause::Kind_Name(record.run_ended().outcome().cause().kind())];
    }
  }

  std::mt19937 random_;
  // Some nodes use a loopback address. This is so only in some runs, so that other cases stay frequent.
  const bool has_loopback_;
  CoreOptions options_;
  std::unique_ptr<Core> core_;
  std::vector<v1::Record> records_;
  std::vector<v1::NodeJoined> joined_;
  std::set<StreamId> open_;
  uint64_t last_stream_ = 0;
  unsigned steps_ = 0;
  uint64_t last_incarnation_ = 0;
  StreamId asked_ = 0;  // the stream that was asked for stacks
  uint64_t last_query_ = 0;
  uint32_t last_round_ = 1;
  absl::Duration now_;
};

// A broken invariant aborts, so the handler must print the seed.
unsigned current_seed = 0;
void PrintSeed(int) { std::fprintf(stderr, "core_fuzz_test: it was seed %u\n", current_seed); }

TEST(CoreFuzz, NoEventBreaksAnything) {
  std::signal(SIGABRT, PrintSeed);
  std::map<std::string, int> seen;
  const char* wanted = std::getenv("MUSTER_FUZZ_SEEDS");  // more seeds than usual
  const unsigned seeds = wanted == nullptr ? 3000 : static_cast<unsigned>(std::atoi(wanted));
  const char* only = std::getenv("MUSTER_FUZZ_SEED");  // runs this seed only, and prints its records
  const unsigned first = only == nullptr ? 1 : static_cast<unsigned>(std::atoi(only));
  for (unsigned seed = first; seed < first + (only == nullptr ? seeds : 1); ++seed) {
    SCOPED_TRACE(absl::StrCat("seed ", seed));
    current_seed = seed;
    Storm storm(seed);
    for (int step = 0; step < 150; ++step) {
      storm.Step();
      ASSERT_EQ(storm.problem, "") << "step " << step;
    }
    for (const auto& [what, count] : storm.seen) seen[what] += count;
  }
  if (only != nullptr) return;
  for (const char* what : {"promoted",
                           "succeeded",
                           "LEFT",
                           "LOST",
                           "REPLACED",
                           "PROCESS_SIGNALED",
                           "PROCESS_EXITED",
                           "NODE_LOST",
                           "NODE_LEFT",
                           "NEVER_FORMED",
                           "STOPPED_BY_USER",
                           "SCHEDULER_STOPPED",
                           "EXTRA_NODE",
                           "NODE_ID_IN_USE",
                           "NODE_ID_INVALID",
                           "SETTINGS_DIFFER",
                           "STALE_INCARNATION",
                           "STALE_CONNECT",
                           "NODE_LOST",
                           "RUN_UNKNOWN",
                           "TRY_LATER",
                           "GAVE_UP",
                           "formed again",
                           "restarted alone",
                           "replaced",
                           "DRAINED",
                           "stacks",
                           "store changed",
                           "store OK",
                           "store FAILED_PRECONDITION",
                           "store INVALID_ARGUMENT",
                           "store DEADLINE_EXCEEDED"}) {
    EXPECT_GT(seen[what], 0) << "no storm came to " << what;
  }
}

}  // namespace
}  // namespace muster::scheduler
