#include "worker_agent/launch/environment/environment.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "tests/unit/launch/environment_fixture.h"

namespace muster::agent {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::Pair;
using Map = std::map<std::string, std::string>;

TEST_F(EnvironmentTest, AnAgentInsideKnowsWhatIsNotTheUsersWord) {
  input.device_variable = "CUDA_VISIBLE_DEVICES";
  input.visible_devices = "1";
  input.inherited = {{"MASTER_ADDR", "10.0.0.9"}, {"MINE", "1"}};
  input.overrides = {{"WORLD_SIZE", "8"}, {"COLOUR", "red"}};
  Build();
  for (const char* name : {"RANK", "MASTER_PORT", "MS_WORKER_NUM", "MS_JOB_ID", "MS_SCHED_PORT", "MUSTER_NODE_ID"}) {
    EXPECT_TRUE(environment.given.contains(name)) << name;
  }
  for (const char* name : {"MASTER_ADDR", "MINE", "WORLD_SIZE", "COLOUR", "CUDA_VISIBLE_DEVICES", "MUSTER_START"}) {
    EXPECT_FALSE(environment.given.contains(name)) << name;
  }
}

TEST_F(EnvironmentTest, GivesEverythingToAPlainProcess) {
  const Map expected = {
      {"DEVICE_ID", "1"},
      {"GROUP_RANK", "1"},
      {"GROUP_WORLD_SIZE", "2"},
      {"HOROVOD_CROSS_RANK", "1"},
      {"HOROVOD_CROSS_SIZE", "2"},
      {"HOROVOD_LOCAL_RANK", "1"},
      {"HOROVOD_LOCAL_SIZE", "2"},
      {"HOROVOD_RANK", "5"},
      {"HOROVOD_SIZE", "6"},
      {"LOCAL_RANK", "1"},
      {"LOCAL_WORLD_SIZE", "2"},
      {"MASTER_ADDR", "10.0.0.1"},
      {"MASTER_PORT", "40000"},
      {"MS_CLUSTER_FILE", "/w/cluster.json"},
      {"MS_JOB_ID", "digits"},
      {"MS_NODE_ID", "5"},
      {"MS_PROGRESS_FILE", "/w/progress-1"},
      {"MS_RESTART_COUNT", "5"},
      {"MS_ROLE", "MS_WORKER"},
      {"MS_ROUND", "2"},
      {"MS_SCHED_HOST", "node1"},
      {"MS_SCHED_PORT", "8118"},
      {"MS_STACKS_FILE", "/w/stacks-1"},
      {"MS_WORKER_NUM", "6"},
      {"MUSTER_NODE_ID", "b-1"},
      {"MUSTER_RANK0_ADDR", "10.0.0.1"},
      {"MUSTER_START", "f00d"},
      {"NNODES", "2"},
      {"NODE_RANK", "1"},
      {"OMP_NUM_THREADS", "1"},
      {"PYTHONUNBUFFERED", "1"},
      {"RANK", "5"},
      {"RANK_ID", "5"},
      {"RANK_SIZE", "6"},
      {"ROLE_NAME", "default"},
      {"ROLE_RANK", "5"},
      {"ROLE_WORLD_SIZE", "6"},
      {"TORCHELASTIC_ERROR_FILE", "/w/error-1.json"},
      {"TORCHELASTIC_MAX_RESTARTS", "3"},
      {"TORCHELASTIC_RESTART_COUNT", "1"},
      {"TORCHELASTIC_RUN_ID", "digits"},
      {"TORCHELASTIC_USE_AGENT_STORE", "False"},
      {"WORLD_SIZE", "6"},
  };
  EXPECT_EQ(Build(), expected);
  EXPECT_THAT(environment.replaced, IsEmpty());
  EXPECT_TRUE(std::is_sorted(environment.variables.begin(), environment.variables.end()));
}

TEST_F(EnvironmentTest, IdentityIsOursAndTheDifferenceIsReported) {
  input.inherited = {{"RANK", "0"}, {"WORLD_SIZE", "6"}, {"MS_SCHED_HOST", "old"}, {"TORCHELASTIC_RESTART_COUNT", "7"}};
  const Map map = Build();
  EXPECT_EQ(map.at("RANK"), "5");
  EXPECT_EQ(map.at("MS_SCHED_HOST"), "node1");
  EXPECT_EQ(map.at("TORCHELASTIC_RESTART_COUNT"), "1");
  EXPECT_THAT(environment.replaced,
              ElementsAre(Pair("MS_SCHED_HOST", "old"), Pair("RANK", "0"), Pair("TORCHELASTIC_RESTART_COUNT", "7")));
  const std::string notice = ReplacedNotice(environment.replaced);
  EXPECT_THAT(notice, HasSubstr("MS_SCHED_HOST=old, RANK=0, TORCHELASTIC_RESTART_COUNT=7"));
  EXPECT_THAT(notice, HasSubstr("--env"));
  EXPECT_THAT(notice, Not(HasSubstr("\n")));
}

// An agent inside a process of another agent must not write into the other's files.
TEST_F(EnvironmentTest, FilesForTheAgentAreThoseOfThisProcess) {
  input.inherited = {{"MS_PROGRESS_FILE", "/other/progress-0"}, {"MS_STACKS_FILE", "/other/stacks-0"}};
  const Map map = Build();
  EXPECT_EQ(map.at("MS_PROGRESS_FILE"), "/w/progress-1");
  EXPECT_EQ(map.at("MS_STACKS_FILE"), "/w/stacks-1");
}

TEST_F(EnvironmentTest, OurPythonFolderComesLastAndOnce) {
  EXPECT_FALSE(Build().contains("PYTHONPATH"));
  input.python_folder = "/opt/lib/muster/python";
  EXPECT_EQ(Build().at("PYTHONPATH"), "/opt/lib/muster/python");
  input.inherited = {{"PYTHONPATH", "/mine:/yours"}};
  EXPECT_EQ(Build().at("PYTHONPATH"), "/mine:/yours:/opt/lib/muster/python");
  input.inherited = {{"PYTHONPATH", "/opt/lib/muster/python:/mine"}};  // an agent inside another one
  EXPECT_EQ(Build().at("PYTHONPATH"), "/opt/lib/muster/python:/mine");
  EXPECT_THAT(environment.replaced, IsEmpty());
  input.overrides = {{"PYTHONPATH", "/only"}};
  EXPECT_EQ(Build().at("PYTHONPATH"), "/only");
}

TEST_F(EnvironmentTest, TheDocumentsVariablesAreNoNews) {
  input.node_id = "node-b";  // the agent's id, not the process's rank
  input.inherited = {{"MS_ROLE", "MS_WORKER"}, {"MS_WORKER_NUM", "6"},    {"MS_SCHED_HOST", "node1"},
                     {"MS_NODE_ID", "node-b"}, {"MS_SCHED_PORT", "8118"}, {"HOME", "/root"}};
  const Map map = Build();
  EXPECT_EQ(map.at("MS_NODE_ID"), "5");
  EXPECT_EQ(map.at("MUSTER_NODE_ID"), "node-b");
  EXPECT_EQ(map.at("HOME"), "/root");
  EXPECT_THAT(environment.replaced, IsEmpty());
  input.inherited["MS_NODE_ID"] = "9";  // not the agent's own name
  Build();
  EXPECT_THAT(environment.replaced, ElementsAre(Pair("MS_NODE_ID", "9")));
}

TEST_F(EnvironmentTest, EndpointsAndTuningAreTheUsersWhenSet) {
  input.inherited = {
      {"MASTER_ADDR", "head"}, {"MASTER_PORT", "29500"}, {"OMP_NUM_THREADS", "4"}, {"PYTHONUNBUFFERED", ""}};
  Map map = Build();
  EXPECT_EQ(map.at("MASTER_ADDR"), "head");
  EXPECT_EQ(map.at("MASTER_PORT"), "29500");
  EXPECT_EQ(map.at("OMP_NUM_THREADS"), "4");
  EXPECT_EQ(map.at("PYTHONUNBUFFERED"), "");
  EXPECT_THAT(environment.replaced, IsEmpty());

  input.master_address = "10.1.1.1";  // a flag overrides an inherited variable
  input.master_port = "29501";
  map = Build();
  EXPECT_EQ(map.at("MASTER_ADDR"), "10.1.1.1");
  EXPECT_EQ(map.at("MASTER_PORT"), "29501");

  input.master_address.clear();
  input.inherited = {{"MASTER_ADDR", ""}};  // exported but empty, so it is of no use
  EXPECT_EQ(Build().at("MASTER_ADDR"), "10.0.0.1");
}

TEST_F(EnvironmentTest, OverridesStandAboveAll) {
  input.inherited = {{"RANK", "9"}};
  input.overrides = {{"RANK", "7"}, {"MASTER_ADDR", "x"}, {"OMP_NUM_THREADS", "2"}, {"NEW", "a=b"}};
  const Map map = Build();
  EXPECT_EQ(map.at("RANK"), "7");
  EXPECT_EQ(map.at("MASTER_ADDR"), "x");
  EXPECT_EQ(map.at("OMP_NUM_THREADS"), "2");
  EXPECT_EQ(map.at("NEW"), "a=b");
  EXPECT_THAT(environment.replaced, IsEmpty());
}

TEST_F(EnvironmentTest, SecretsAreNeverPassedOn) {
  input.inherited = {{"MS_TLS_SERVER_PASSWORD", "s"}, {"MS_TLS_CLIENT_PASSWORD_FILE", "/f"}, {"MS_TLS_CONFIG", "/c"}};
  const Map map = Build();
  EXPECT_FALSE(map.contains("MS_TLS_SERVER_PASSWORD"));
  EXPECT_FALSE(map.contains("MS_TLS_CLIENT_PASSWORD_FILE"));
  EXPECT_TRUE(map.contains("MS_TLS_CONFIG"));
  EXPECT_THAT(environment.replaced, IsEmpty());
}

TEST_F(EnvironmentTest, ALoneProcessKeepsItsThreads) {
  desired.mutable_assignment()->set_local_world_size(1);
  EXPECT_FALSE(Build().contains("OMP_NUM_THREADS"));
}

TEST_F(EnvironmentTest, OneProcessForTheNodeStandsForAllItsRanks) {
  input.slot = 0;
  input.is_one_for_node = true;
  Map map = Build();
  EXPECT_EQ(map.at("RANK"), "4");
  EXPECT_EQ(map.at("LOCAL_WORLD_SIZE"), "2");
  EXPECT_EQ(map.at("MUSTER_LOCAL_RANKS"), "0,1");
  EXPECT_FALSE(map.contains("OMP_NUM_THREADS"));
  input.is_one_for_node = false;
  input.inherited = {{"MUSTER_LOCAL_RANKS", "0,1"}};
  EXPECT_FALSE(Build().contains("MUSTER_LOCAL_RANKS"));
}

TEST_F(EnvironmentTest, ServersHaveRanksOfTheirOwn) {
  desired.mutable_assignment()->set_role(v1::ROLE_SERVER);
  desired.mutable_assignment()->set_server_num(2);
  Map map = Build();
  EXPECT_EQ(map.at("MS_ROLE"), "MS_PSERVER");
  EXPECT_EQ(map.at("RANK_SIZE"), "2");
  EXPECT_EQ(map.at("WORLD_SIZE"), "2");
  EXPECT_EQ(map.at("MS_WORKER_NUM"), "6");
  EXPECT_EQ(map.at("MS_SERVER_NUM"), "2");
  EXPECT_EQ(map.at("ROLE_NAME"), "server");
  input.inherited = {{"MS_ROLE", "MS_SERVER"}};
  EXPECT_EQ(Build().at("MS_ROLE"), "MS_SERVER");
  EXPECT_THAT(environment.replaced, IsEmpty());
}

TEST_F(EnvironmentTest, RecoveryIsReportedWhenItIsSettled) {
  EXPECT_FALSE(Build().contains("MS_ENABLE_RECOVERY"));
  input.enable_recovery = true;
  EXPECT_EQ(Build().at("MS_ENABLE_RECOVERY"), "1");
}

TEST_F(EnvironmentTest, PlaceholdersAgreeWithTheVariables) {
  input.inherited = {{"MASTER_ADDR", "head"}};
  const Map map = Build();
  const Placeholders values = PlaceholdersFor(input, environment);
  const std::pair<const char*, const char*> pairs[] = {{"rank", "RANK"},
                                                       {"world_size", "WORLD_SIZE"},
                                                       {"node_rank", "NODE_RANK"},
                                                       {"nnodes", "NNODES"},
                                                       {"local_rank", "LOCAL_RANK"},
                                                       {"local_world_size", "LOCAL_WORLD_SIZE"},
                                                       {"job_id", "MS_JOB_ID"},
                                                       {"nproc_per_node", "LOCAL_WORLD_SIZE"},
                                                       {"round", "MS_ROUND"},
                                                       {"node_id", "MUSTER_NODE_ID"},
                                                       {"restart_count", "MS_RESTART_COUNT"},
                                                       {"master_addr", "MASTER_ADDR"},
                                                       {"master_port", "MASTER_PORT"}};
  for (const auto& [placeholder, variable] : pairs) EXPECT_EQ(values.at(placeholder), map.at(variable)) << placeholder;
  EXPECT_EQ(values.at("role"), "worker");
  EXPECT_EQ(values.at("master"), absl::StrCat(map.at("MASTER_ADDR"), ":", map.at("MASTER_PORT")));
  EXPECT_EQ(values.size(), std::size(pairs) + 2);
}

TEST_F(EnvironmentTest, OnlyTheMasterIsLocalWithARelay) {
  input.has_torch_store = true;
  input.local_store_port = 12345;
  input.inherited = {{"MASTER_ADDR", "head"}};
  input.master_port = "29500";
  const Map map = Build();
  EXPECT_EQ(map.at("MASTER_ADDR"), "127.0.0.1");
  EXPECT_EQ(map.at("MASTER_PORT"), "12345");
  EXPECT_EQ(map.at("MUSTER_RANK0_ADDR"), "10.0.0.1");
  EXPECT_EQ(map.at("TORCHELASTIC_USE_AGENT_STORE"), "True");
  const Placeholders values = PlaceholdersFor(input, environment);
  EXPECT_EQ(values.at("master_addr"), "10.0.0.1");
  EXPECT_EQ(values.at("master_port"), "40000");
}

TEST_F(EnvironmentTest, ANodeThatNamesPartOfTheMasterGetsTheRestOfRank0s) {
  input.has_torch_store = true;
  input.local_store_port = 12345;
  input.overrides = {{"MASTER_ADDR", "head"}};
  EXPECT_EQ(Build().at("MASTER_PORT"), "40000");
  input.overrides = {{"MASTER_PORT", "3000"}};
  EXPECT_EQ(Build().at("MASTER_ADDR"), "10.0.0.1");
  EXPECT_EQ(Build().at("TORCHELASTIC_USE_AGENT_STORE"), "False");
  EXPECT_EQ(PlaceholdersFor(input, environment).at("master_port"), "3000");
}

TEST_F(EnvironmentTest, PlaceholdersWorkInOverrides) {
  input.overrides = {{"CACHE", "/tmp/{job_id}/{rank}-{local_rank}"},
                     {"URL", "tcp://{master_addr}:{master_port}"},
                     {"MASTER", "{master}"},
                     {"MASTER_PORT", "3000"},
                     {"MASTER_ADDR", "{master_addr}"},
                     {"JSON", "{\"a\": {x}}"},
                     {"LITERAL", "{{rank}}"}};
  const Map map = Build();
  EXPECT_EQ(map.at("CACHE"), "/tmp/digits/" + map.at("RANK") + "-1");
  EXPECT_EQ(map.at("URL"), "tcp://" + map.at("MASTER_ADDR") + ":3000");
  EXPECT_EQ(map.at("MASTER"), map.at("MASTER_ADDR") + ":3000");
  EXPECT_THAT(map.at("MASTER_ADDR"), Not(HasSubstr("{")));
  EXPECT_EQ(map.at("JSON"), "{\"a\": {x}}");
  EXPECT_EQ(map.at("LITERAL"), "{rank}");
  EXPECT_THAT(environment.replaced, IsEmpty());
}

TEST_F(EnvironmentTest, TheMasterOfAnIpv6ClusterIsPartOfAUrl) {
  desired.mutable_assignment()->set_master_address("fd00::1");
  input.overrides = {{"URL", "tcp://{master}"}};
  EXPECT_EQ(Build().at("URL"), "tcp://[fd00::1]:40000");
  EXPECT_EQ(Build().at("MASTER_ADDR"), "fd00::1");
}

TEST(ReplacedNotice, StaysOneShortLine) {
  EXPECT_EQ(ReplacedNotice({}), "");
  Map many;
  for (int i = 0; i < 20; ++i) many["NAME" + std::to_string(i)] = std::string(1000, 'x');
  const std::string notice = ReplacedNotice(many);
  EXPECT_LT(notice.size(), 600u);
  EXPECT_THAT(notice, HasSubstr("and 14 more"));
}

TEST(ReplacedNotice, EscapesWhatWasInherited) { EXPECT_THAT(ReplacedNotice({{"RANK", "1\n2"}}), Not(HasSubstr("\n"))); }

}  // namespace
}  // namespace muster::agent
