#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "absl/strings/numbers.h"
#include "tests/unit/platform/recorded.h"
#include "worker_agent/platform/platform.h"
#include "worker_agent/settings/agent_settings.h"

namespace muster::agent {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

struct Outcome {
  AgentSettings settings;
  LoadResult loaded;
  std::vector<std::string> lines;
};

Outcome Take(const Variables& environment, const std::vector<std::string>& args) {
  Outcome outcome;
  SettingsTable table = AgentSettingsTable(outcome.settings);
  outcome.loaded = LoadSettings(table, args, environment, true);
  const auto slots = [&] {
    uint32_t number = 0;
    return absl::SimpleAtoi(outcome.settings.local_worker_num, &number) ? number : 0;
  };
  outcome.lines = TakeFromPlatform(ReadPlatform("auto", environment), table, {outcome.settings.with_scheduler, slots},
                                   outcome.loaded);
  return outcome;
}

TEST(Taking, GivesWhatIsNotSetAndSaysFromWhere) {
  const Outcome slurm = Take(RecordedEnvironment("slurm_gpus"), {"--with_scheduler"});
  EXPECT_THAT(slurm.loaded.findings.errors, IsEmpty());
  EXPECT_EQ(slurm.settings.job_id, "slurm-4711-3");
  EXPECT_EQ(slurm.settings.worker_num, 16);
  EXPECT_EQ(slurm.settings.local_worker_num, "8");
  EXPECT_EQ(slurm.settings.node_rank, 1);
  EXPECT_EQ(slurm.settings.sched_host, "gpu07");
  EXPECT_EQ(slurm.settings.sched_port, 21308);
  EXPECT_THAT(slurm.lines, ElementsAre("from slurm: job_id slurm-4711-3 (SLURM_JOB_ID, SLURM_STEP_ID), node_rank 1 "
                                       "(SLURM_PROCID), local_worker_num 8 (SLURM_GPUS_ON_NODE), worker_num 16 "
                                       "(SLURM_STEP_NUM_TASKS x 8), sched_host gpu07 (SLURM_STEP_NODELIST), sched_port "
                                       "21308 (SLURM_JOB_ID, SLURM_STEP_ID)"));
  LoadResult loaded = slurm.loaded;
  EXPECT_EQ(loaded.sources["node_rank"], "SLURM_PROCID");
}

TEST(Taking, LeavesTheSchedulersAddressToItsUserWithoutASchedulerOfItsOwn) {
  EXPECT_EQ(Take(RecordedEnvironment("slurm"), {}).settings.sched_host, "127.0.0.1");
  const Outcome named = Take(RecordedEnvironment("slurm"), {"--with_scheduler", "--sched_host", "head:9000"});
  EXPECT_EQ(named.settings.sched_host, "head");
  EXPECT_EQ(named.settings.sched_port, 9000);
  const Outcome port = Take(RecordedEnvironment("slurm"), {"--with_scheduler", "--sched_port", "9000"});
  EXPECT_EQ(port.settings.sched_host, "n1");
  EXPECT_EQ(port.settings.sched_port, 9000);
}

TEST(Taking, ASetVariableStaysAndIsReportedWhereItDiffers) {
  Variables environment = RecordedEnvironment("lws");
  environment["MS_JOB_ID"] = "mine";
  const Outcome outcome = Take(environment, {"--worker_num", "6", "--node_rank", "2"});
  EXPECT_EQ(outcome.settings.worker_num, 6);
  EXPECT_EQ(outcome.settings.job_id, "mine");
  EXPECT_THAT(outcome.lines,
              ElementsAre("job_id stays \"mine\" (from MS_JOB_ID), though LWS_LEADER_ADDRESS says \"llm-0\"",
                          "worker_num stays \"6\" (from --worker_num), though LWS_GROUP_SIZE says \"4\""));
}

TEST(Taking, CountsAsManyProcessesAsTheUserSays) {
  EXPECT_EQ(Take(RecordedEnvironment("slurm"), {"--local_worker_num", "2"}).settings.worker_num, 8);
  EXPECT_EQ(Take(RecordedEnvironment("ascend_pytorch"), {}).settings.worker_num, 16);
  EXPECT_FALSE(Take(RecordedEnvironment("lws"), {"--local_worker_num", "auto"}).settings.worker_num);
}

TEST(Taking, MindSporesVariablesOfAscendsOperatorAreReadAsEverywhere) {
  const Outcome outcome = Take(RecordedEnvironment("ascend_mindspore"), {});
  EXPECT_EQ(outcome.settings.worker_num, 16);
  EXPECT_EQ(outcome.settings.local_worker_num, "8");
  EXPECT_EQ(outcome.settings.node_rank, 1);
  EXPECT_EQ(outcome.settings.sched_host, "10.108.4.7");
  EXPECT_EQ(outcome.settings.job_id, "default");
  EXPECT_THAT(outcome.lines, IsEmpty());
}

TEST(Taking, AValueThatASettingRefusesNamesTheVariable) {
  Variables environment = RecordedEnvironment("jobset");
  environment["JOBSET_NAME"] = "a/b";
  EXPECT_THAT(Take(environment, {}).loaded.findings.errors,
              ElementsAre(HasSubstr("job_id: \"a/b\" (from JOBSET_NAME) ")));
}

TEST(Taking, ErrorsOfThePlatformLeaveTheSettingsAlone) {
  Variables environment = RecordedEnvironment("slurm");
  environment["SLURM_PROCID"] = "4";
  const Outcome outcome = Take(environment, {});
  EXPECT_THAT(outcome.loaded.findings.errors, ElementsAre(HasSubstr("SLURM_PROCID is 4")));
  EXPECT_FALSE(outcome.settings.worker_num);
}

}  // namespace
}  // namespace muster::agent
