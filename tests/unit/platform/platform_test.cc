#include "worker_agent/platform/platform.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "tests/unit/platform/recorded.h"

namespace muster::agent {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

std::string Shown(const PlatformFacts& facts) {
  std::string text = facts.platform;
  const auto add = [&](const char* name, const std::optional<Fact>& fact) {
    if (fact) absl::StrAppend(&text, " ", name, "=", fact->value);
  };
  add("job", facts.job_id);
  add("id", facts.node_id);
  add("nodes", facts.nodes);
  add("rank", facts.node_rank);
  add("slots", facts.slots);
  add("workers", facts.workers);
  add("host", facts.first_host);
  add("port", facts.port);
  return text;
}

const struct {
  const char* file;
  const char* facts;
} kRecorded[] = {
    {"slurm", "slurm job=slurm-1-0 nodes=4 rank=3 host=n1 port=16392"},
    {"slurm_gpus", "slurm job=slurm-4711-3 nodes=2 rank=1 slots=8 host=gpu07 port=21308"},
    {"k8s", "k8s job=train id=train-2 rank=2"},
    {"jobset", "jobset job=train id=train-node-0-1 rank=1 host=train-node-0-0.train"},
    {"lws", "lws job=llm-0 nodes=4 rank=2 host=llm-0.llm.default"},
    {"kubeflow", "kubeflow job=fit nodes=2 rank=1 slots=4 host=fit-node-0-0.fit"},
    {"volcano", "volcano job=mnist nodes=3 rank=1 host=mnist-worker-0.mnist"},
    {"volcano_pytorch", "volcano job=mnist nodes=3 rank=1 host=mnist-master-0.mnist"},
    {"ascend_pytorch", "ascend job=6f1c2e0a-5b1d-4a4e-9f6e-0d1a2b3c4d5e rank=1 slots=8 workers=16 host=10.108.4.7"},
    {"ascend_mindspore", "ascend"},
    {"ascend_tensorflow", "ascend job=6f1c2e0a-5b1d-4a4e-9f6e-0d1a2b3c4d5e rank=1 slots=8 workers=16 host=10.108.4.7"},
    {"openmpi", "openmpi nodes=2 rank=1"},
};

TEST(Platform, IsRecognisedByItsRecordedEnvironment) {
  for (const auto& recorded : kRecorded) {
    const PlatformFacts facts = ReadPlatform("auto", RecordedEnvironment(recorded.file));
    EXPECT_EQ(Shown(facts), recorded.facts) << recorded.file;
    EXPECT_THAT(facts.errors, IsEmpty()) << recorded.file;
    EXPECT_THAT(facts.warnings, IsEmpty()) << recorded.file;
  }
}

TEST(Platform, NamedIsTheSameAsRecognised) {
  for (const auto& recorded : kRecorded) {
    const Variables environment = RecordedEnvironment(recorded.file);
    const std::string name = ReadPlatform("auto", environment).platform;
    EXPECT_EQ(Shown(ReadPlatform(name, environment)), recorded.facts) << recorded.file;
  }
}

TEST(Platform, EachRowHasARecordedEnvironment) {
  std::set<std::string> recorded;
  for (const auto& one : kRecorded) recorded.insert(ReadPlatform("auto", RecordedEnvironment(one.file)).platform);
  for (const Platform& platform : Platforms()) EXPECT_EQ(recorded.count(platform.name), 1) << platform.name;
}

TEST(Platform, EachInnerOneIsARow) {
  std::set<std::string> names;
  for (const Platform& platform : Platforms()) names.insert(platform.name);
  for (const Platform& platform : Platforms()) {
    for (const char* inner : platform.inner) EXPECT_EQ(names.count(inner), 1) << inner;
  }
}

TEST(Platform, NotThereIsAnErrorIfItWasNamedAndAWarningIfNot) {
  EXPECT_THAT(ReadPlatform("slurm", {{"SLURM_PROCID", "0"}}).errors,
              ElementsAre("from: this is not a step of Slurm, since SLURM_STEP_NUM_TASKS is not set: start ms-worker "
                          "with srun; or leave --from (MS_FROM) out"));
  EXPECT_THAT(ReadPlatform("lws", {}).errors,
              ElementsAre("from: this is not a pod of a LeaderWorkerSet, since LWS_GROUP_SIZE and LWS_WORKER_INDEX are "
                          "not set; or leave --from (MS_FROM) out"));
  const PlatformFacts nothing = ReadPlatform("auto", {{"PATH", "/bin"}, {"SLURM_PROCID", "0"}});
  EXPECT_THAT(nothing.errors, IsEmpty());
  EXPECT_THAT(nothing.warnings, ElementsAre(HasSubstr("auto recognises nothing here")));
}

TEST(Platform, TwoAtOnceAreAnErrorThatNamesBoth) {
  Variables both = RecordedEnvironment("slurm");
  both.merge(RecordedEnvironment("lws"));
  EXPECT_THAT(ReadPlatform("auto", both).errors,
              ElementsAre("from: this looks like a step of Slurm (SLURM_STEP_NUM_TASKS and SLURM_PROCID: --from slurm) "
                          "and like a pod of a LeaderWorkerSet (LWS_GROUP_SIZE and LWS_WORKER_INDEX: --from lws); "
                          "choose one"));
  EXPECT_EQ(ReadPlatform("lws", both).platform, "lws");
}

TEST(Platform, OfOneInsideAnotherTheInnerMostLauncherCounts) {
  Variables both = RecordedEnvironment("slurm");
  both.merge(RecordedEnvironment("openmpi"));
  EXPECT_EQ(Shown(ReadPlatform("auto", both)), "openmpi nodes=2 rank=1");
}

std::string ErrorWith(const char* file, const std::string& name, const std::string& value) {
  Variables environment = RecordedEnvironment(file);
  environment[name] = value;
  return absl::StrJoin(ReadPlatform("auto", environment).errors, "\n");
}

TEST(Platform, AValueThatIsNoneNamesItsVariable) {
  EXPECT_THAT(ErrorWith("slurm", "SLURM_STEP_NUM_TASKS", "many"),
              HasSubstr("SLURM_STEP_NUM_TASKS is \"many\", but must"));
  EXPECT_THAT(ErrorWith("slurm", "SLURM_STEP_NUM_TASKS", "0"), HasSubstr("SLURM_STEP_NUM_TASKS is \"0\""));
  EXPECT_THAT(ErrorWith("slurm", "SLURM_STEP_NODELIST", "n[1-"), HasSubstr("SLURM_STEP_NODELIST: must be a list"));
  EXPECT_THAT(ErrorWith("k8s", "JOB_COMPLETION_INDEX", "-1"), HasSubstr("JOB_COMPLETION_INDEX is \"-1\""));
  EXPECT_THAT(ErrorWith("kubeflow", "PET_NNODES", "1:4"), HasSubstr("PET_NNODES is \"1:4\""));
  EXPECT_THAT(ErrorWith("kubeflow", "PET_NPROC_PER_NODE", "some"), HasSubstr("PET_NPROC_PER_NODE is \"some\""));
  EXPECT_THAT(ErrorWith("ascend_pytorch", "WORLD_SIZE", "-"), HasSubstr("WORLD_SIZE is \"-\""));
  EXPECT_EQ(ErrorWith("lws", "LWS_WORKER_INDEX", "4"),
            "LWS_WORKER_INDEX is 4, but LWS_GROUP_SIZE is 4, so places end at 3");
}

std::string WarningWith(const char* file, const std::string& name, const std::string& value) {
  Variables environment = RecordedEnvironment(file);
  environment[name] = value;
  const PlatformFacts facts = ReadPlatform("auto", environment);
  EXPECT_THAT(facts.errors, IsEmpty()) << name;
  return absl::StrJoin(facts.warnings, "\n");
}

TEST(Platform, ContradictionsAreReported) {
  EXPECT_EQ(WarningWith("volcano", "VK_TASK_INDEX", "2"),
            "VC_TASK_INDEX is \"1\", but VK_TASK_INDEX is \"2\"; using VC_TASK_INDEX");
  EXPECT_EQ(WarningWith("slurm", "SLURM_NTASKS", "8"),
            "SLURM_STEP_NUM_TASKS is \"4\", but SLURM_NTASKS is \"8\"; using SLURM_STEP_NUM_TASKS");
  EXPECT_EQ(WarningWith("slurm", "SLURM_STEP_NUM_NODES", "3"),
            "SLURM_STEP_NUM_NODES is 3, but SLURM_STEP_NODELIST has 2 hosts");
}

TEST(Platform, WhatItsEnvironmentDoesNotTellIsLeftToTheUser) {
  EXPECT_THAT(WarningWith("volcano", "VC_PS_NUM", "2"), HasSubstr("several tasks (PS, WORKER), and the environment"));
  EXPECT_THAT(WarningWith("jobset", "JOBSET_REPLICATEDJOB_REPLICAS", "2"), HasSubstr("set --node_rank"));
  EXPECT_THAT(WarningWith("kubeflow", "PET_NPROC_PER_NODE", "cpu"), HasSubstr("set --local_worker_num"));
  Variables environment = RecordedEnvironment("k8s");
  environment["HOSTNAME"] = "node7";
  EXPECT_EQ(Shown(ReadPlatform("auto", environment)), "k8s rank=2");
}

TEST(Platform, TorchrunsWordsForProcesses) {
  Variables environment = RecordedEnvironment("kubeflow");
  for (const char* word : {"auto", "gpu"}) {
    environment["PET_NPROC_PER_NODE"] = word;
    EXPECT_EQ(ReadPlatform("auto", environment).slots->value, "auto");
  }
}

TEST(Platform, GpusAreTheProcessesOfOneTaskOnly) {
  Variables environment = RecordedEnvironment("slurm_gpus");
  for (const char* uneven : {"2(x2)", "1,2", "1(x2),2"}) {
    environment["SLURM_STEP_TASKS_PER_NODE"] = uneven;
    EXPECT_FALSE(ReadPlatform("slurm", environment).slots) << uneven;
  }
}

TEST(Platform, StepsOfJobsSideBySideHavePortsOfTheirOwn) {
  Variables environment = RecordedEnvironment("slurm");
  std::set<std::string> ports;
  for (int job = 5000; job < 5100; ++job) {
    for (const char* step : {"0", "1"}) {
      environment["SLURM_JOB_ID"] = absl::StrCat(job);
      environment["SLURM_STEP_ID"] = step;
      ports.insert(ReadPlatform("slurm", environment).port->value);
    }
  }
  EXPECT_EQ(ports.size(), 200);
}

}  // namespace
}  // namespace muster::agent
