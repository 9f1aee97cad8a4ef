// The loop with the real core and the memory journal.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "common/base/limits.h"
#include "scheduler/core/core.h"
#include "scheduler/journal/memory_journal.h"
#include "tests/unit/loop/loop_fakes.h"

namespace muster::scheduler {
namespace {

using ::testing::Contains;

JoinRequested AJoin(StreamId stream) {
  JoinRequested requested;
  requested.stream = stream;
  requested.peer_address = "10.0.0.1";
  v1::Join& join = requested.join;
  join.set_protocol_version(kProtocolVersion);
  join.set_job_id("job");
  join.set_incarnation(7);
  join.set_connect_seq(1);
  join.mutable_settings()->set_worker_num(1);
  join.mutable_node()->set_role(v1::ROLE_WORKER);
  join.mutable_node()->set_host_name("host");
  join.mutable_node()->set_machine_id("m");
  join.mutable_node()->add_slots();
  join.mutable_node()->set_master_port(6000);
  return requested;
}

TEST(RealCore, AJobOfOneFormsThroughTheLoop) {
  Trace trace;
  TraceSink sink(trace);
  MemoryJournal journal;
  Core core(CoreOptions{}, "cluster");
  Loop loop(core, journal, sink, Clock::System(), {});
  ASSERT_TRUE(loop.Start().ok());
  ASSERT_TRUE(loop.Post(AJoin(1)));
  ASSERT_TRUE(loop.Post(QueryReceived{5, v1::StatusRequest()}));
  loop.Stop();
  EXPECT_THAT(trace.words(), Contains("welcome 1 term 1"));
  EXPECT_THAT(trace.words(), Contains("publish 1"));
  EXPECT_THAT(trace.words(), Contains("desired 1 term 1"));
  EXPECT_THAT(trace.words(), Contains("answer 5"));
  core.CheckInvariants();
}

// A journal with records that no scheduler writes.
class WrongJournal : public MemoryJournal {
 public:
  explicit WrongJournal(std::vector<v1::Record> records) : records_(std::move(records)) {}
  absl::Status Replay(const std::function<void(const v1::Record&)>& take) override {
    for (const v1::Record& record : records_) take(record);
    return absl::OkStatus();
  }

 private:
  std::vector<v1::Record> records_;
};

TEST(RealCore, RecordsThatCannotBeThePastAreRefusedAtTheStart) {
  v1::Record opened;
  opened.mutable_run_opened()->set_job_id("job");
  opened.mutable_run_opened()->set_run(1);
  v1::Record closed;
  closed.mutable_round_closed()->set_job_id("job");
  closed.mutable_round_closed()->set_run(1);
  closed.mutable_round_closed()->set_round(1);
  v1::PeerList peers;  // of a node on a machine that does not exist
  peers.set_worker_num(1);
  peers.add_nodes()->set_machine(1'000'000);
  peers.mutable_nodes(0)->add_ring_ports(1);
  closed.mutable_round_closed()->set_peer_list(peers.SerializeAsString());
  v1::Record joined;  // two nodes with the same incarnation
  joined.mutable_node_joined()->set_job_id("job");
  joined.mutable_node_joined()->set_run(1);
  v1::Record again = joined;
  again.mutable_node_joined()->set_node_id("b");
  v1::Record aborted;  // a round that was given up, but never closed
  aborted.mutable_round_aborted()->set_job_id("job");
  aborted.mutable_round_aborted()->set_run(1);
  aborted.mutable_round_aborted()->set_round(3);
  const std::vector<std::vector<v1::Record>> wrong = {{opened, closed}, {opened, joined, again}, {opened, aborted}};
  for (const auto& records : wrong) {
    Trace trace;
    TraceSink sink(trace);
    WrongJournal journal(records);
    Core core(CoreOptions{}, "cluster");
    Loop loop(core, journal, sink, Clock::System(), {});
    const absl::Status started = loop.Start();
    EXPECT_EQ(started.code(), absl::StatusCode::kDataLoss);
    EXPECT_THAT(std::string(started.message()), testing::HasSubstr("run 1 of job job"));
    EXPECT_THAT(std::string(started.message()), testing::HasSubstr("--journal_path"));
  }
}

TEST(RealCore, RestartsBeyondAllBudgetsTakeNoMemory) {
  v1::Record opened;
  opened.mutable_run_opened()->set_job_id("job");
  opened.mutable_run_opened()->set_run(1);
  opened.mutable_run_opened()->mutable_settings()->set_worker_num(1);
  v1::Record snapshot;
  {
    Core core(CoreOptions{}, "cluster");
    core.Recover(opened);
    snapshot = core.TakeSnapshot();
  }
  snapshot.mutable_snapshot()->mutable_jobs(0)->mutable_runs(0)->set_recent_restarts(UINT32_MAX);  // would take 34 GB
  snapshot.mutable_snapshot()->mutable_jobs(0)->mutable_runs(0)->set_opened_unix_ms(INT64_MIN);
  Core core(CoreOptions{}, "cluster");
  core.Recover(snapshot);
  EXPECT_TRUE(core.CheckRecovered().ok()) << core.CheckRecovered();
  core.Start(Clock::System().Read());
  core.CheckInvariants();
}

TEST(RealCore, DeadlinesRunByThemselves) {
  Trace trace;
  TraceSink sink(trace);
  MemoryJournal journal;
  CoreOptions options;
  options.is_once = true;
  options.topo_timeout = absl::Milliseconds(20);
  Core core(options, "cluster");
  Loop loop(core, journal, sink, Clock::System(), {});
  ASSERT_TRUE(loop.Start().ok());
  trace.Await(1);
  loop.Stop();
  EXPECT_THAT(trace.words(), Contains("settled 0")) << "no node joined: --once ends without a run";
}

}  // namespace
}  // namespace muster::scheduler
