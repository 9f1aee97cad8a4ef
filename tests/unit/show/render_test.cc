#include "common/show/render.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>

namespace muster {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

v1::StatusReply FormingJob() {
  v1::StatusReply reply;
  reply.set_cluster_id("c0ffee");
  reply.set_term(2);
  reply.set_version("0.1.0");
  reply.set_up_ms(61'000);
  v1::RunStatus& run = *reply.add_runs();
  run.set_job_id("train");
  run.set_run(3);
  run.set_phase(v1::RUN_PHASE_FORMING);
  run.mutable_settings()->set_worker_num(8);
  run.set_nodes_here(7);
  run.set_opened_unix_ms(1'795'215'870'000);
  run.set_age_ms(12'000);
  run.set_opened_by("ann@node1");
  run.mutable_waiting()->set_text("7 of 8 workers are here; missing: 5");
  run.mutable_waiting()->set_time_left_ms(1'788'000);
  return reply;
}

TEST(RenderStatus, FormingNamesTheMissingNodesAndTheTimeLeft) {
  EXPECT_EQ(RenderStatus(FormingJob(), "127.0.0.1:8118", absl::UTCTimeZone()),
            "scheduler 127.0.0.1:8118, version 0.1.0, up 1 min, term 2, cluster c0ffee\n"
            "\n"
            "job train, run 3: forming\n"
            "  size        8 workers\n"
            "  nodes       7 nodes here\n"
            "  opened      12 s ago, 2026-11-20 23:04:30, by ann@node1\n"
            "  waiting     7 of 8 workers are here; missing: 5\n"
            "  time left   29 min 48 s\n");
}

TEST(RenderStatus, RunningShowsRoundAndProcesses) {
  v1::StatusReply reply = FormingJob();
  v1::RunStatus& run = *reply.mutable_runs(0);
  run.set_phase(v1::RUN_PHASE_RUNNING);
  run.set_round(2);
  run.set_restart_count(1);
  run.set_processes_running(7);
  run.set_processes_done(1);
  run.set_nodes_disconnected(1);
  run.set_spares(2);
  run.mutable_settings()->set_server_num(1);
  run.clear_waiting();
  const std::string text = RenderRun(run, absl::UTCTimeZone());
  EXPECT_THAT(text, HasSubstr("job train, run 3: running, round 2, 1 restart\n"));
  EXPECT_THAT(text, HasSubstr("  size        8 workers, 1 server\n"));
  EXPECT_THAT(text, HasSubstr("  nodes       7 nodes here, 1 disconnected, 2 spares\n"));
  EXPECT_THAT(text, HasSubstr("  processes   7 running, 1 done\n"));
  EXPECT_THAT(text, Not(HasSubstr("waiting")));
}

TEST(RenderStatus, FailedNamesTheCauseWithItsLastLinesAndTheRemedy) {
  v1::StatusReply reply = FormingJob();
  v1::RunStatus& run = *reply.mutable_runs(0);
  run.set_phase(v1::RUN_PHASE_FAILED);
  run.set_round(1);
  v1::Cause& cause = *run.mutable_outcome()->mutable_cause();
  run.mutable_outcome()->set_ended_unix_ms(1'795'215'875'000);
  cause.set_text("rank 3 on node2 was killed by signal 9 (SIGKILL)");
  cause.add_last_lines("step 7");
  cause.add_last_lines("\x1b[31mred");
  cause.set_log_file("/logs/train/1-20261120T230430Z/worker_3.log");
  cause.set_host_name("node2");
  cause.set_remedy("MS_ENABLE_RECOVERY=1 restarts it");
  const std::string text = RenderRun(run, absl::UTCTimeZone());
  EXPECT_THAT(text, HasSubstr("  ended       2026-11-20 23:04:35\n"
                              "  cause       rank 3 on node2 was killed by signal 9 (SIGKILL)\n"
                              "              | step 7\n"
                              "              | \\x1b[31mred\n"
                              "  log         /logs/train/1-20261120T230430Z/worker_3.log on node2\n"
                              "  what to do  MS_ENABLE_RECOVERY=1 restarts it\n"));
  EXPECT_THAT(text, Not(HasSubstr("processes"))) << "there are none any more";
  EXPECT_THAT(text, Not(HasSubstr("time left")));
}

TEST(RenderStatus, SucceededNamesNoCause) {
  v1::StatusReply reply = FormingJob();
  v1::RunStatus& run = *reply.mutable_runs(0);
  run.set_phase(v1::RUN_PHASE_SUCCEEDED);
  run.mutable_outcome()->set_succeeded(true);
  EXPECT_THAT(RenderRun(run, absl::UTCTimeZone()), Not(HasSubstr("cause")));
}

TEST(RenderStatus, NoJobYet) {
  v1::StatusReply reply;
  reply.set_is_draining(true);
  const std::string text = RenderStatus(reply, "h:1", absl::UTCTimeZone());
  EXPECT_THAT(text, HasSubstr("draining"));
  EXPECT_THAT(text, HasSubstr("no job yet\n"));
}

NodesOfJob OneNode(const std::string& job) {
  NodesOfJob out{job, {}};
  v1::NodeStatus& node = *out.reply.add_nodes();
  node.set_node_id("node1-1");
  node.set_state("connected");
  node.set_role(v1::ROLE_WORKER);
  node.set_host_name("node1");
  node.set_address("10.0.0.1");
  node.set_slots(4);
  for (uint32_t rank : {0, 1, 2, 3}) node.add_ranks(rank);
  node.set_last_seen_ms(1500);
  return out;
}

TEST(RenderNodes, OneJobNeedsNoJobColumn) {
  EXPECT_EQ(RenderNodes({OneNode("a")}),
            "NODE     STATE      ROLE    HOST   ADDRESS   SLOTS  RANKS     SEEN  NOTE\n"
            "node1-1  connected  worker  node1  10.0.0.1      4  0-3    1 s ago  -\n");
}

TEST(RenderNodes, SeveralJobsSparesAndNodesNeverSeen) {
  NodesOfJob other = OneNode("b");
  other.reply.mutable_nodes(0)->set_is_spare(true);
  other.reply.mutable_nodes(0)->clear_ranks();
  other.reply.mutable_nodes(0)->set_last_seen_ms(-1);
  const std::string text = RenderNodes({OneNode("a"), other});
  EXPECT_THAT(text, ::testing::StartsWith("JOB  NODE"));
  EXPECT_THAT(text, HasSubstr("not yet  spare\n"));
}

TEST(RenderNodes, None) { EXPECT_EQ(RenderNodes({}), "no nodes\n"); }

TEST(RenderRanks, ShowsTheNodeOfEachRank) {
  RanksOfJob job{"a", {}};
  for (uint32_t i = 0; i < 2; ++i) {
    v1::RankStatus& rank = *job.reply.add_ranks();
    rank.set_rank(i);
    rank.set_role(v1::ROLE_WORKER);
    rank.set_node_id("n" + std::to_string(i));
    rank.set_host_name("host");
    rank.set_address("10.0.0.1");
    rank.set_local_rank(i);
    rank.set_device_id(std::to_string(i));
    rank.set_state(i == 0 ? "running" : "assigned");
    rank.set_pid(i == 0 ? 4711 : 0);
  }
  EXPECT_EQ(RenderRanks({job}),
            "RANK  ROLE    NODE  HOST  ADDRESS   LOCAL  MACHINE  DEVICE  STATE      PID\n"
            "   0  worker  n0    host  10.0.0.1      0        0       0  running   4711\n"
            "   1  worker  n1    host  10.0.0.1      1        0       1  assigned     -\n");
}

TEST(RenderRanks, ShowsStepsWhereAnyAreKnown) {
  RanksOfJob job{"a", {}};
  job.reply.add_ranks()->set_role(v1::ROLE_WORKER);
  v1::RankStatus& rank = *job.reply.add_ranks();
  rank.set_role(v1::ROLE_WORKER);
  rank.set_rank(1);
  rank.set_step(17);
  rank.set_since_progress_ms(12'000);
  const std::string text = RenderRanks({job});
  EXPECT_THAT(text, HasSubstr("STEP  STEPS/S  SINCE\n"));
  EXPECT_THAT(text, HasSubstr("-        -      -\n"));
  EXPECT_THAT(text, HasSubstr("17        -   12 s\n"));
}

TEST(RenderRanks, ShowsWhatTheProcessesDo) {
  RanksOfJob job{"a", {}};
  v1::RankStatus& rank = *job.reply.add_ranks();
  rank.set_role(v1::ROLE_WORKER);
  rank.set_step(17);
  rank.set_since_progress_ms(400);
  rank.set_steps_per_second(3.14159);
  rank.set_cpu_percent(98);
  EXPECT_THAT(RenderRanks({job}),
              AllOf(HasSubstr("STEP  STEPS/S  SINCE  OUTPUT  CPU\n"), HasSubstr("17     3.14  0.4 s       -  98%\n")));
  rank.set_since_output_ms(7000);
  EXPECT_THAT(RenderRanks({job}), HasSubstr("7 s ago  98%\n"));
}

std::string ProgressLine(std::function<void(v1::ProgressStatus&)> fill) {
  v1::RunStatus run;
  run.set_phase(v1::RUN_PHASE_RUNNING);
  fill(*run.mutable_progress());
  const std::string text = RenderRun(run, absl::UTCTimeZone());
  const size_t at = text.find("  progress    ");
  return at == std::string::npos ? "" : text.substr(at + 14, text.find('\n', at) - at - 14);
}

TEST(RenderRun, SaysThingsOnce) {
  v1::RunStatus run;
  EXPECT_THAT(RenderRun(run, absl::UTCTimeZone()), HasSubstr("\n  size        not set\n"));
  run.mutable_last_abort()->set_text("restarted by ann: new data");
  EXPECT_THAT(RenderWhy(run, absl::UTCTimeZone()), HasSubstr("\n  restarted   by ann: new data\n"));
  run.mutable_last_abort()->set_text("rank 1 failed");
  EXPECT_THAT(RenderWhy(run, absl::UTCTimeZone()), HasSubstr("\n  restarted   rank 1 failed\n"));
}

TEST(RenderRun, NamesTheRanksThatAreBehind) {
  EXPECT_EQ(ProgressLine([](auto& p) {
              p.set_watched(4);
              p.set_slowest_step(16);
              p.set_fastest_step(18);
              p.add_slowest_ranks(2);
              p.set_slowest_count(1);
              p.set_since_progress_ms(12'000);
            }),
            "steps 16 to 18; slowest rank 2, without change for 12 s");
  EXPECT_EQ(ProgressLine([](auto& p) {
              p.set_watched(30);
              p.set_slowest_step(16);
              p.set_fastest_step(18);
              for (uint32_t rank = 0; rank < 8; ++rank) p.add_slowest_ranks(rank);
              p.set_slowest_count(10);
            }),
            "steps 16 to 18; slowest ranks 0-7 and 2 more, without change for 0 s");
  EXPECT_EQ(ProgressLine([](auto& p) {
              p.set_watched(4);
              p.set_slowest_step(16);
              p.set_fastest_step(16);
              for (uint32_t rank : {3, 0, 1, 2}) p.add_slowest_ranks(rank);
              p.set_slowest_count(4);
              p.set_since_progress_ms(900);
            }),
            "step 16; 4 ranks in step, longest without change rank 3: 0.9 s");
  EXPECT_EQ(ProgressLine([](auto& p) {
              p.set_watched(4);
              p.set_slowest_step(16);
              p.set_fastest_step(17);
              for (uint32_t rank : {1, 2, 3}) p.add_slowest_ranks(rank);
              p.set_slowest_count(3);
              p.set_since_progress_ms(500);
            }),
            "steps 16 to 17; 4 ranks in step, longest without change rank 1: 0.5 s")
      << "rank 0 has just gone on";
  EXPECT_EQ(ProgressLine([](auto& p) {
              p.set_watched(4);
              p.set_slowest_step(16);
              p.set_fastest_step(17);
              p.add_slowest_ranks(2);
              p.set_slowest_count(1);
              p.set_since_progress_ms(12'000);
            }),
            "steps 16 to 17; slowest rank 2, without change for 12 s")
      << "the others wait for it";
  EXPECT_EQ(ProgressLine([](auto& p) {
              p.set_watched(1);
              p.add_slowest_ranks(0);
              p.set_slowest_count(1);
            }),
            "slowest rank 0, without change for 0 s")
      << "a file that is only touched";
}

TEST(RenderStacks, EachUnderItsRank) {
  v1::StacksReply reply;
  v1::RankStack& first = *reply.add_ranks();
  first.set_rank(1);
  first.set_host_name("h");
  first.set_node_id("n");
  first.mutable_stack()->set_pid(4711);
  first.mutable_stack()->set_method("py-spy");
  first.mutable_stack()->set_text("Thread 1\n  f (a.py:3)\x1b[2J\n");
  v1::RankStack& second = *reply.add_ranks();
  second.set_rank(2);
  second.set_host_name("h");
  second.set_node_id("m");
  second.mutable_stack()->set_note("its agent is not connected");
  EXPECT_EQ(RenderStacks(reply),
            "rank 1 on h (node n), pid 4711, by py-spy\n"
            "  Thread 1\n"
            "    f (a.py:3)\\x1b[2J\n"
            "\n"
            "rank 2 on h (node m)\n"
            "  (its agent is not connected)\n");
}

TEST(RenderWhy, ShowsTheLastRestartAndTheEnd) {
  v1::RunStatus run;
  run.set_job_id("train");
  run.set_run(2);
  run.set_phase(v1::RUN_PHASE_FAILED);
  run.mutable_last_abort()->set_text("rank 0 died");
  run.mutable_outcome()->mutable_cause()->set_text("gave up");
  run.mutable_outcome()->mutable_cause()->set_remedy("mend it");
  EXPECT_EQ(RenderWhy(run, absl::UTCTimeZone()),
            "job train, run 2: failed\n"
            "  restarted   rank 0 died\n"
            "  cause       gave up\n"
            "  what to do  mend it\n");
}

TEST(RenderWhy, SaysWhatToDoWhileItWaits) {
  v1::RunStatus run;
  run.set_job_id("train");
  run.set_run(2);
  run.set_phase(v1::RUN_PHASE_RECOVERING);
  run.mutable_waiting()->set_text("1 of 2 workers are here");
  run.mutable_last_abort()->set_text("node b is lost");
  run.mutable_last_abort()->set_remedy("start it again");
  EXPECT_EQ(RenderWhy(run, absl::UTCTimeZone()),
            "job train, run 2: recovering\n"
            "  waiting     1 of 2 workers are here\n"
            "  restarted   node b is lost\n"
            "  what to do  start it again\n");
}

TEST(RenderWhy, SaysThatNothingIsWatchedForProgress) {
  v1::RunStatus run;
  run.set_phase(v1::RUN_PHASE_RUNNING);
  run.mutable_settings()->set_progress_timeout_ms(30'000);
  const std::string words = "no process has written to MS_PROGRESS_FILE yet: until one does, --progress_timeout (30 s)";
  EXPECT_THAT(RenderWhy(run, absl::UTCTimeZone()), Not(HasSubstr(words))) << "the scheduler still waits";
  run.set_not_watched(words);
  EXPECT_THAT(RenderWhy(run, absl::UTCTimeZone()), HasSubstr(words));
  EXPECT_THAT(RenderRun(run, absl::UTCTimeZone()), HasSubstr(words));
}

TEST(RenderWhy, NamesNodesThatAreNotHeard) {
  v1::RunStatus run;
  run.set_phase(v1::RUN_PHASE_RUNNING);
  run.set_silent_nodes("node b (host-b) for 12 s");
  EXPECT_THAT(RenderWhy(run, absl::UTCTimeZone()), HasSubstr("  not heard   node b (host-b) for 12 s\n"));
  EXPECT_THAT(RenderRun(run, absl::UTCTimeZone()), HasSubstr("  not heard   node b (host-b) for 12 s\n"));
}

TEST(RenderWhy, WhatRunsAgainNeedsNothing) {
  v1::RunStatus run;
  run.mutable_last_abort()->set_text("node b is lost");
  run.mutable_last_abort()->set_remedy("start it again");
  run.set_phase(v1::RUN_PHASE_RUNNING);
  EXPECT_THAT(RenderWhy(run, absl::UTCTimeZone()), Not(HasSubstr("what to do")));
  run.set_phase(v1::RUN_PHASE_RECOVERING);
  EXPECT_THAT(RenderWhy(run, absl::UTCTimeZone()), HasSubstr("  what to do  start it again\n"));
}

TEST(RenderNodes, NamesTheNodesThatLeave) {
  NodesOfJob job = OneNode("a");
  job.reply.mutable_nodes(0)->set_draining("drained by ann");
  EXPECT_THAT(RenderNodes({job}), HasSubstr("leaves at the next round: drained by ann\n"));
}

TEST(RenderRanks, BeforeTheFirstRound) { EXPECT_THAT(RenderRanks({{"a", {}}}), HasSubstr("no round has closed")); }

TEST(RenderEvents, OneLineEachAndLastLinesBelow) {
  v1::EventsReply reply;
  v1::JobEvent& first = *reply.add_events();
  first.set_unix_ms(1'795'215'870'000);
  first.set_text("term 1 begins");
  v1::JobEvent& second = *reply.add_events();
  second.set_unix_ms(1'795'215'871'000);
  second.set_job_id("train");
  second.set_run(1);
  second.set_text("rank 0 died\nforged line");
  second.add_last_lines("Traceback");
  EXPECT_EQ(RenderEvents(reply, absl::UTCTimeZone()),
            "2026-11-20 23:04:30  term 1 begins\n"
            "2026-11-20 23:04:31  train/1  rank 0 died\\nforged line\n"
            "    | Traceback\n");
}

}  // namespace
}  // namespace muster
