#include "ctl/commands/choose.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace muster::ctl {
namespace {

using ::testing::HasSubstr;

void Add(v1::StatusReply& reply, const std::string& job, v1::RunPhase phase, int64_t opened) {
  v1::RunStatus& run = *reply.add_runs();
  run.set_job_id(job);
  run.set_run(1);
  run.set_phase(phase);
  run.set_opened_unix_ms(opened);
}

TEST(ChooseRun, TakesTheOnlyLiveOne) {
  v1::StatusReply reply;
  Add(reply, "old", v1::RUN_PHASE_FAILED, 9);
  Add(reply, "live", v1::RUN_PHASE_STOPPING, 1);
  const auto chosen = ChooseRun(reply, true);
  ASSERT_TRUE(chosen.ok() && chosen->has_value());
  EXPECT_EQ((*chosen)->job_id(), "live");
}

TEST(ChooseRun, TakesTheLastEndedOneOnlyWhenAsked) {
  v1::StatusReply reply;
  Add(reply, "first", v1::RUN_PHASE_FAILED, 1);
  Add(reply, "last", v1::RUN_PHASE_SUCCEEDED, 3);
  Add(reply, "middle", v1::RUN_PHASE_SUCCEEDED, 2);
  const auto watched = ChooseRun(reply, true);
  ASSERT_TRUE(watched.ok() && watched->has_value());
  EXPECT_EQ((*watched)->job_id(), "last");
  const auto stopped = ChooseRun(reply, false);
  ASSERT_TRUE(stopped.ok());
  EXPECT_FALSE(stopped->has_value());
}

TEST(ChooseRun, NoneAtAll) {
  const auto chosen = ChooseRun({}, true);
  ASSERT_TRUE(chosen.ok());
  EXPECT_FALSE(chosen->has_value());
}

TEST(ChooseRun, AsksWhichOfSeveral) {
  v1::StatusReply reply;
  Add(reply, "a", v1::RUN_PHASE_RUNNING, 1);
  Add(reply, "b", v1::RUN_PHASE_FORMING, 2);
  const auto chosen = ChooseRun(reply, true);
  ASSERT_FALSE(chosen.ok());
  EXPECT_THAT(std::string(chosen.status().message()), HasSubstr("(a, b)"));
  EXPECT_THAT(std::string(chosen.status().message()), HasSubstr("--job"));
}

TEST(JobNames, AreBounded) {
  v1::StatusReply reply;
  EXPECT_EQ(JobNames(reply), "none");
  for (int i = 0; i < 12; ++i) Add(reply, "j" + std::to_string(i), v1::RUN_PHASE_RUNNING, i);
  EXPECT_EQ(JobNames(reply), "j0, j1, j2, j3, j4, j5, j6, j7, j8, j9 and 2 more");
}

}  // namespace
}  // namespace muster::ctl
