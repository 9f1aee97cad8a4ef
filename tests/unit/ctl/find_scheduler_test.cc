// The choice between the schedulers of this user.
#include "ctl/commands/find_scheduler.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace muster::ctl {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Optional;

FoundScheduler At(uint16_t port, const std::vector<std::string>& jobs) {
  FoundScheduler found;
  found.port = port;
  for (const std::string& job : jobs) {
    v1::RunStatus& run = *found.status.add_runs();
    run.set_job_id(job);
    run.set_run(1);
    run.set_phase(v1::RUN_PHASE_RUNNING);
  }
  return found;
}

TEST(ChooseScheduler, TakesTheOnlyOne) {
  EXPECT_THAT(*ChooseScheduler({At(40001, {"train"})}, ""), Optional(0));
  EXPECT_THAT(*ChooseScheduler({At(40001, {})}, ""), Optional(0)) << "no node has joined yet";
  EXPECT_EQ(*ChooseScheduler({}, ""), std::nullopt);
}

TEST(ChooseScheduler, TakesTheOneThatKnowsTheJob) {
  const std::vector<FoundScheduler> found = {At(40001, {"train"}), At(40002, {"eval", "old"})};
  EXPECT_THAT(*ChooseScheduler(found, "eval"), Optional(1));
  EXPECT_EQ(*ChooseScheduler(found, "other"), std::nullopt);
  EXPECT_EQ(*ChooseScheduler({At(40001, {"train"})}, "other"), std::nullopt);
}

TEST(ChooseScheduler, ListsThemIfSeveralFit) {
  const std::vector<FoundScheduler> found = {At(40001, {"train"}), At(40002, {"train"}), At(40003, {})};
  const auto any = ChooseScheduler(found, "");
  EXPECT_THAT(std::string(any.status().message()),
              AllOf(HasSubstr("3 schedulers of this user run on this machine: choose one with --sched_port"),
                    HasSubstr("\n  port 40001: job train, run 1: running"), HasSubstr("\n  port 40003: no job yet")));
  EXPECT_THAT(std::string(ChooseScheduler(found, "train").status().message()),
              HasSubstr("2 schedulers of this user run on this machine and know a job train"));
}

}  // namespace
}  // namespace muster::ctl
