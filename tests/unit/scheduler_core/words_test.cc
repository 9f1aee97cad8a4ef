// Texts for people: ranks, names of phases.
#include <gtest/gtest.h>

#include "scheduler/core/context/evolve.h"
#include "scheduler/core/facts/event_log.h"
#include "tests/unit/scheduler_core/run_builder.h"

namespace muster::scheduler {
namespace {

TEST(FormatRanks, Table) {
  const std::vector<std::pair<std::vector<uint32_t>, std::string>> table = {
      {{}, ""},
      {{7}, "7"},
      {{0, 1}, "0-1"},
      {{3, 1, 2, 0}, "0-3"},
      {{0, 2, 4}, "0,2,4"},
      {{7, 0, 1, 2, 3}, "0-3,7"},
      {{5, 5, 5}, "5-5"},
      {{4294967295u}, "4294967295"},
      {{4294967294u, 4294967295u, 0}, "0,4294967294-4294967295"},
  };
  for (const auto& [ranks, text] : table) EXPECT_EQ(FormatRanks(ranks), text);
}

TEST(Describe, AFailedProcessIsReportedInTheWordsOfTheCause) {
  State state;
  Job& job = state.jobs["default"];
  scheduler::Run& run = job.runs.emplace(1, RunOf(1)).first->second;
  Edit(run).round = 1;
  Edit(AddNode(run, {.id = "a"})).slots[0] = {.phase = SlotState::Phase::kRunning, .rank = 0};
  v1::Record record;
  v1::NodeReported& reported = *record.mutable_node_reported();
  reported.set_job_id("default");
  reported.set_run(1);
  reported.set_node_id("a");
  v1::ProcessEnded& ended = *reported.add_events()->mutable_ended();
  ended.set_round(1);
  ended.set_signal(9);
  ASSERT_EQ(Describe(state, record).size(), 1U);
  EXPECT_EQ(Describe(state, record)[0].text(), "rank 0 on host-a (node a) was killed by SIGKILL");
  ended.set_round(2);
  EXPECT_TRUE(Describe(state, record).empty()) << "of a round that is not this one";
  ended.set_round(1);
  ended.set_was_stopped(true);
  EXPECT_TRUE(Describe(state, record).empty()) << "we stopped it";
}

TEST(Describe, RemoteCommandsAreReportedBesideAFailure) {
  State state;
  Job& job = state.jobs["default"];
  scheduler::Run& run = job.runs.emplace(1, RunOf(1)).first->second;
  Edit(run).round = 1;
  Edit(AddNode(run, {.id = "b"})).slots[0] = {.phase = SlotState::Phase::kRunning, .rank = 0};
  v1::Record record;
  v1::NodeReported& reported = *record.mutable_node_reported();
  reported.set_job_id("default");
  reported.set_run(1);
  reported.set_node_id("b");
  v1::RemoteCommands& ran = *reported.add_events()->mutable_remote_commands();
  ran.set_round(1);
  ran.set_count(1);
  ran.set_from("\"a\" at 10.0.0.1");
  ran.set_words("orted -mca ess env");
  v1::RemoteCommands& refused = *reported.add_events()->mutable_remote_commands();
  refused.set_count(40);
  refused.set_from("process 7 of user 1000");
  refused.set_refusal(v1::RemoteCommands::WRONG_KEY);
  refused.set_why("its token is not this round's");
  v1::ProcessEnded& ended = *reported.add_events()->mutable_ended();
  ended.set_round(1);
  ended.set_exit_code(1);
  const std::vector<v1::JobEvent> lines = Describe(state, record);
  ASSERT_EQ(lines.size(), 3U);
  EXPECT_EQ(lines[0].text(), "node b ran a remote command of \"a\" at 10.0.0.1 (round 1): orted -mca ess env");
  EXPECT_EQ(lines[0].refusal(), "");
  EXPECT_EQ(lines[1].text(),
            "node b refused 40 remote commands, the last one of process 7 of user 1000: its token is not this round's");
  EXPECT_EQ(lines[1].refusal(), "remote command: WRONG_KEY");
  EXPECT_EQ(lines[1].times(), 40U);
  EXPECT_EQ(lines[2].kind(), "process_failed");
  refused.set_refusal(static_cast<v1::RemoteCommands::Refusal>(99));
  EXPECT_EQ(Describe(state, record)[1].refusal(), "remote command: OTHER") << "of a newer agent";
}

TEST(SeverityOf, OnlyWhatNeedsAPersonIsLoud) {
  const std::vector<std::pair<const char*, Severity>> table = {
      {"run_opened", Severity::kDebug},    {"node_joined", Severity::kDebug},
      {"node_left", Severity::kDebug},     {"round_closed", Severity::kInfo},
      {"run_succeeded", Severity::kInfo},  {"run_failing", Severity::kInfo},
      {"node_lost", Severity::kWarning},   {"run_failed", Severity::kWarning},
      {"remote_command", Severity::kInfo}, {"remote_command_refused", Severity::kWarning},
  };
  for (const auto& [kind, severity] : table) {
    v1::JobEvent event;
    event.set_kind(kind);
    EXPECT_EQ(SeverityOf(event), severity) << kind;
  }
}

}  // namespace
}  // namespace muster::scheduler
