#include "scheduler/core/places/waiting.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"
#include "scheduler/core/places/other_jobs.h"
#include "scheduler/core/places/standing_in.h"
#include "tests/unit/scheduler_core/run_builder.h"

namespace muster::scheduler {
namespace {

TEST(DescribeWaiting, NamesMissingIds) {
  scheduler::Run run = RunOf(8);
  for (const char* id : {"0", "1", "2", "5", "7"}) AddNode(run, {.id = id, .host = "host-a"});
  run.topo_deadline = At(100);
  const v1::WaitStatus status = DescribeWaiting(run, At(40));
  EXPECT_EQ(status.text(), "5 of 8 workers are here (host-a: 5); missing node ids: 3-4,6; 60 s left");
  EXPECT_EQ(status.workers_here(), 5u);
  EXPECT_EQ(status.workers_needed(), 8u);
  EXPECT_EQ(status.time_left_ms(), 60'000);
}

TEST(DescribeWaiting, OneMissingId) {
  scheduler::Run run = RunOf(2);
  AddNode(run, {.id = "1"});
  EXPECT_EQ(DescribeWaiting(run, At(0)).text(), "1 of 2 workers are here (host-1: 1); missing node id: 0");
}

TEST(DescribeWaiting, NoIdsAreNamedWhereNumbersAreNoRanks) {
  const auto text = [](void (*change)(scheduler::Run&)) {
    scheduler::Run run = RunOf(4);
    AddNode(run, {.id = "1"});
    change(run);
    return DescribeWaiting(run, At(0)).text();
  };
  const std::string plain = "1 of 4 workers are here (host-1: 1)";
  EXPECT_EQ(text([](scheduler::Run& run) { Edit(run).settings.set_hccl_cm_init(true); }), plain);
  EXPECT_EQ(text([](scheduler::Run& run) { Edit(run.nodes.at("1")).info.set_node_rank(0); }), plain);
  EXPECT_EQ(text([](scheduler::Run& run) { Edit(run.nodes.at("1")).info.add_table_ranks(0); }), plain);
  EXPECT_EQ(text([](scheduler::Run& run) { AddNode(run, {.id = "2", .slots = 2}); }),
            "3 of 4 workers are here (host-1: 1, host-2: 2)");
  EXPECT_EQ(text([](scheduler::Run& run) { Edit(run).settings.set_server_num(1); }),
            "1 of 4 workers are here, 0 of 1 servers (host-1: 1)");
}

TEST(DescribeWaiting, ManyMissingIdsStayOneLine) {
  scheduler::Run run = RunOf(1'000'000);
  AddNode(run, {.id = "1"});
  for (int i = 2; i < 2000; i += 2) AddNode(run, {.id = absl::StrCat(i), .host = "host-1"});
  EXPECT_LT(DescribeWaiting(run, At(0)).text().size(), 400u);
}

TEST(DescribeWaiting, HostsOfOneNameAreDistinguished) {
  scheduler::Run run = RunOf(8);
  AddNode(run, {.id = "a", .slots = 2, .host = "gpu", .machine = "m1", .address = "10.0.0.1"});
  AddNode(run, {.id = "b", .slots = 1, .host = "gpu", .machine = "m1", .address = "10.0.0.1"});
  AddNode(run, {.id = "c", .slots = 1, .host = "gpu", .machine = "m2", .address = "10.0.0.2"});
  AddNode(run, {.id = "d", .slots = 1, .host = "cpu10"});
  AddNode(run, {.id = "e", .slots = 1, .host = "cpu9"});
  EXPECT_EQ(DescribeWaiting(run, At(0)).text(),
            "6 of 8 workers are here (cpu9: 1, cpu10: 1, gpu [10.0.0.1]: 3, gpu [10.0.0.2]: 1)");
}

TEST(DescribeWaiting, ManyHostsAreCutShort) {
  scheduler::Run run = RunOf(100);
  for (int i = 0; i < 12; ++i) AddNode(run, {.id = absl::StrCat("n", i), .host = absl::StrCat("h", i)});
  EXPECT_EQ(DescribeWaiting(run, At(0)).text(),
            "12 of 100 workers are here (h0: 1, h1: 1, h2: 1, h3: 1, h4: 1, h5: 1, h6: 1, h7: 1 and 4 more)");
}

TEST(DescribeWaiting, NamesTheNodesThatWereHere) {
  scheduler::Run run = RunOf(8);
  Node& away = AddNode(run, {.id = "a"});
  away.stream = 0;
  away.last_seen = At(90);
  Node& unseen = AddNode(run, {.id = "b"});
  unseen.stream = 0;
  unseen.was_seen = false;
  GoneNode& lost = Edit(run).gone["c"];
  lost.why = v1::NodeRemoved::LOST;
  lost.host_name = "host-c";
  run.gone_runtimes["c"] = {.was_seen = true, .last_seen = At(40)};
  GoneNode& left = Edit(run).gone["d"];
  left.why = v1::NodeRemoved::LEFT;
  left.reason = "it received SIGTERM";
  left.host_name = "host-d";
  Edit(run).gone["e"].why = v1::NodeRemoved::REPLACED;
  EXPECT_EQ(DescribeWaiting(run, At(100)).text(),
            "0 of 8 workers are here; node a (host-a) was last seen 10 s ago, node b (host-b) was not seen since the "
            "scheduler started, node c (host-c) was last seen 60 s ago, node d (host-d) has left: it received SIGTERM");
}

// The text after "may still run": a time if the fence is armed and certainly holds, else the program or person that can
// confirm the end.
TEST(DescribeWaiting, HowLongOldProcessesMayStillRun) {
  const auto text = [](absl::Duration fence, bool is_guarded, MonotonicTime stale_end) {
    scheduler::Run run = RunOf(2);
    Node& lost = AddNode(run, {.id = "a"});
    lost.stream = 0;
    Edit(lost).is_lost = true;
    Edit(lost).stale_incarnation = Edit(lost).incarnation;
    Edit(lost).stale_fence = fence;
    lost.stale_end = stale_end;
    Edit(lost).info.set_is_fence_guarded(is_guarded);
    return DescribeStaleEnd(lost, At(100));
  };
  EXPECT_EQ(text(absl::Seconds(60), true, At(120)), " for 20 s");
  EXPECT_EQ(text(absl::ZeroDuration(), true, MonotonicTime::Never()),
            " (`ms-ctl fence a` once they have certainly ended)");
  EXPECT_EQ(text(absl::ZeroDuration(), false, MonotonicTime::Never()),
            " (`ms-ctl fence a` once they have certainly ended)");
  EXPECT_EQ(text(absl::Seconds(60), false, MonotonicTime::Never()),
            " (its fence is not guaranteed to have ended them: `ms-ctl fence a` once they have certainly ended)");
}

TEST(DescribeRemedy, AWaitForALostNodeHasARemedy) {
  scheduler::Run run = RunOf(3);
  AddNode(run, {.id = "a"});
  for (const char* id : {"b", "c"}) Edit(AddNode(run, {.id = id})).is_lost = true;
  EXPECT_EQ(DescribeRemedy(run, At(0)), "") << "it forms, or goes on";
  Edit(run).phase = v1::RUN_PHASE_RECOVERING;
  EXPECT_EQ(
      DescribeRemedy(run, At(0)),
      "start the same ms-worker line again on host-b (node b), host-c (node c); or a --spare with as many slots on "
      "another machine; or end the job with `ms-ctl stop`");
  Edit(NodesOf(run)["c"]).stale_incarnation = 7;
  EXPECT_EQ(DescribeRemedy(run, At(0)),
            "start the same ms-worker line again on host-b (node b), host-c (node c); or a --spare with as many slots "
            "on another machine, and run `ms-ctl fence c` if the old processes have certainly ended; or end the job "
            "with `ms-ctl stop`");
  for (const char* id : {"b", "c"}) Edit(NodesOf(run)[id]).is_lost = false;
  EXPECT_EQ(DescribeRemedy(run, At(0)), "");
}

TEST(DescribeRemedy, SparesThatTakeOverNeedNoRemedy) {
  scheduler::Run run = RunOf(3);
  Edit(run).phase = v1::RUN_PHASE_RECOVERING;
  AddNode(run, {.id = "a"});
  Node& lost = AddNode(run, {.id = "b"});
  Edit(lost).is_lost = true;
  Edit(lost).stale_incarnation = 7;
  lost.stale_end = At(100);
  AddSpare(run, {.id = "d10"});
  Node& spare = AddSpare(run, {.id = "d9"});
  const std::string sooner =
      "; sooner with `ms-ctl fence b`, if the old processes have certainly ended, or with the same ms-worker line "
      "again on host-b (node b)";
  EXPECT_EQ(DescribeRemedy(run, At(15)), "nothing to do: spare d9 takes over in 85 s" + sooner);
  run.restart_at = At(120);
  EXPECT_EQ(DescribeRemedy(run, At(15)), "nothing to do: spare d9 takes over in 105 s" + sooner) << "the back-off";
  Edit(spare).is_leaving = true;
  EXPECT_EQ(DescribeRemedy(run, At(15)), "nothing to do: spare d10 takes over in 105 s" + sooner);
  Edit(spare).is_leaving = false;
  spare.stream = 0;
  EXPECT_EQ(DescribeRemedy(run, At(15)), "nothing to do: spare d10 takes over in 105 s" + sooner);
  spare.stream = 9;
  // A person alone can confirm that the lost node's processes have ended.
  lost.stale_end = MonotonicTime::Never();
  EXPECT_EQ(DescribeRemedy(run, At(15)),
            "run `ms-ctl fence b` if the old processes have certainly ended: spare d9 takes over then; or start the "
            "same ms-worker line again on host-b (node b); or end the job with `ms-ctl stop`");
  // The lost node's processes have ended, those of the other nodes have not.
  Edit(lost).stale_incarnation = 0;
  EXPECT_EQ(DescribeRemedy(run, At(15)), "nothing to do: spare d9 takes over in 105 s");
  run.restart_at = At(15);
  run.holding_up = 1;
  EXPECT_EQ(DescribeRemedy(run, At(15)), "nothing to do: spare d9 takes over once all others are ready");
  // There is nothing left to wait for: the others could not reach the spare.
  run.holding_up = 0;
  EXPECT_EQ(DescribeRemedy(run, At(15)),
            "start the same ms-worker line again on host-b (node b); or a --spare with as many slots on another "
            "machine; or end the job with `ms-ctl stop`");
}

TEST(DescribeRemedy, ASpareThatFitsNotAllIsNotEnough) {
  scheduler::Run run = RunOf(4);
  Edit(run).phase = v1::RUN_PHASE_RECOVERING;
  run.holding_up = 1;
  for (const char* id : {"b", "c"}) Edit(AddNode(run, {.id = id, .slots = 2})).is_lost = true;
  const std::string rest = "; or a --spare with as many slots on another machine; or end the job with `ms-ctl stop`";
  AddSpare(run, {.id = "small"});
  EXPECT_EQ(DescribeRemedy(run, At(0)),
            "start the same ms-worker line again on host-b (node b), host-c (node c)" + rest);
  AddSpare(run, {.id = "d", .slots = 2});
  EXPECT_EQ(DescribeRemedy(run, At(0)), "start the same ms-worker line again on host-c (node c)" + rest);
  AddSpare(run, {.id = "e", .slots = 2});
  EXPECT_EQ(DescribeRemedy(run, At(0)), "nothing to do: spares d, e take over once all others are ready");
}

// Jobs with nodes of `user`, or of `identity`; each has as many nodes as are `here` and wants two workers.
class OtherJobs : public ::testing::Test {
 protected:
  scheduler::Run& Open(const std::string& id, int here, const std::string& user, const std::string& identity = "") {
    scheduler::Run& run = state_.jobs[id].runs[1] = RunOf(2);
    Edit(run).job_id = id;
    for (int i = 0; i < here; ++i) {
      Node& node = AddNode(run, {.id = absl::StrCat("n", i)});
      Edit(node).info.set_user(user);
      Edit(node).identity = identity;
    }
    return run;
  }
  std::string TextOf(const std::string& id, double at = 10) {
    return DescribeOtherJobs(state_, state_.jobs[id].runs[1], At(at));
  }

  State state_;
};

TEST_F(OtherJobs, HalvesOfOneJobNameEachOther) {
  Open("111", 1, "ann");
  Open("222", 1, "ann");
  Open("bob", 1, "bob");
  const std::string advice = ": nodes that belong together need the same job id (--job_id, --rdzv_id)";
  EXPECT_EQ(TextOf("111"), "another job of the same user waits, too: 222 (1 of 2 workers)" + advice);
  EXPECT_EQ(TextOf("222"), "another job of the same user waits, too: 111 (1 of 2 workers)" + advice);
  EXPECT_EQ(TextOf("bob"), "");
  EXPECT_EQ(TextOf("111", 2), "") << "its nodes may still be coming";
}

TEST_F(OtherJobs, OnlyThoseThatLackSomebodyCount) {
  Open("111", 1, "ann");
  Open("full", 2, "ann");
  Open("left", 0, "ann");
  Edit(Open("runs", 1, "ann")).phase = v1::RUN_PHASE_RUNNING;
  Open("young", 1, "ann").opened = At(9);
  Open("away", 1, "ann").nodes.at("n0").stream = 0;
  Edit(Open("nameless", 1, "")).number = 1;
  EXPECT_EQ(TextOf("111"), "");
  EXPECT_EQ(TextOf("nameless"), "");
  EXPECT_EQ(TextOf("full"), "");
}

TEST_F(OtherJobs, OneThatRecoversMayWaitForAnothersNode) {
  Open("111", 1, "ann");
  scheduler::Run& other = Open("222", 2, "ann");
  Edit(other).phase = v1::RUN_PHASE_RECOVERING;
  EXPECT_EQ(TextOf("111"), "") << "no node is missing";
  Node& lost = other.nodes.at("n1");
  lost.stream = 0;
  Edit(lost).is_lost = true;
  Edit(other).lost.Add(lost);
  EXPECT_THAT(TextOf("111"), ::testing::HasSubstr("222 (1 of 2 workers)"));
  EXPECT_THAT(TextOf("222"), ::testing::HasSubstr("111 (1 of 2 workers)"));
}

TEST_F(OtherJobs, WithTlsTheIdentityCounts) {
  Open("111", 1, "ann", "muster/host/a");
  Open("222", 1, "ann", "muster/host/b");
  Open("333", 1, "ann");
  EXPECT_EQ(TextOf("111"), "") << "a user's name is not proved";
  Open("444", 1, "eve", "muster/host/a");
  EXPECT_EQ(TextOf("111"), "") << "several users may share a host's certificate";
  Open("555", 1, "ann", "muster/host/a");
  EXPECT_THAT(TextOf("111"), ::testing::StartsWith("another job of the same identity waits, too: 555 (1 of 2"));
}

TEST_F(OtherJobs, ARunOfSeveralUsersIsToldNothing) {
  scheduler::Run& run = Open("111", 2, "ann");
  Edit(run).settings.set_worker_num(3);
  Open("222", 1, "ann");
  EXPECT_THAT(TextOf("111"), ::testing::HasSubstr("222"));
  Edit(run.nodes.at("n1")).info.set_user("eve");
  EXPECT_EQ(TextOf("111"), "") << "eve would read of ann's other jobs";
  EXPECT_EQ(TextOf("222"),
            "another job of the same user waits, too: 111 (2 of 3 workers): nodes that belong together "
            "need the same job id (--job_id, --rdzv_id)");
}

TEST_F(OtherJobs, FewAreNamedAndThoseOfTheSameSizeFirst) {
  Open("111", 1, "ann");
  Edit(Open("0-large", 1, "ann")).settings.set_worker_num(64);
  for (int i = 2; i < 7; ++i) Open(absl::StrCat(i, i, i), 1, "ann");
  EXPECT_THAT(TextOf("111"), ::testing::StartsWith(
                                 "other jobs of the same user wait, too: 222 (1 of 2 workers), 333 (1 of 2 workers), "
                                 "444 (1 of 2 workers), 3 more: "));
}

TEST(DescribeWaiting, OtherJobsComeBeforeTheTimeLeft) {
  scheduler::Run run = RunOf(2);
  run.topo_deadline = At(100);
  EXPECT_EQ(DescribeWaiting(run, At(40), "another job").text(), "0 of 2 workers are here; another job; 60 s left");
}

TEST(DescribeWaiting, SparesStandBy) {
  scheduler::Run run = RunOf(2);
  AddSpare(run, {.id = "a"});
  EXPECT_EQ(DescribeWaiting(run, At(0)).text(), "0 of 2 workers are here; 1 spare stands by");
  AddSpare(run, {.id = "b"});
  EXPECT_EQ(DescribeWaiting(run, At(0)).text(), "0 of 2 workers are here; 2 spares stand by");
}

TEST(DescribeWaiting, TimeLeft) {
  scheduler::Run run = RunOf(2);
  EXPECT_EQ(DescribeWaiting(run, At(0)).time_left_ms(), -1) << "no limit";
  run.topo_deadline = At(10);
  EXPECT_EQ(DescribeWaiting(run, At(10)).time_left_ms(), 0);
  EXPECT_EQ(DescribeWaiting(run, At(11)).time_left_ms(), 0);
  EXPECT_EQ(DescribeWaiting(run, At(11)).text(), "0 of 2 workers are here");
}

TEST(DescribeWaiting, TheNumberOfNodesIsUnknown) {
  EXPECT_EQ(DescribeWaiting(RunOf(0), At(0)).text(), "no node is here");
}

}  // namespace
}  // namespace muster::scheduler
