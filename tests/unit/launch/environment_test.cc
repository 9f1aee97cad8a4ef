#include "worker_agent/launch/environment/environment.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "tests/unit/launch/sample_round.h"

namespace muster::agent {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::Pair;
using Map = std::map<std::string, std::string>;

class EnvironmentTest : public ::testing::Test {
 protected:
  EnvironmentTest() {
    input.desired = &desired;
    input.slot = 1;
    input.job_id = "digits";
    input.node_id = "b-1";
    input.own_address = "10.0.0.2";
    input.scheduler_host = "node1";
    input.scheduler_port = 8118;
    input.cluster_file = "/w/cluster.json";
    input.start_secret = "f00d";
    input.progress_file = "/w/progress-1";
    input.stacks_file = "/w/stacks-1";
    input.error_file = "/w/error-1.json";
    input.max_restarts = 3;
  }

  Map Build() {
    environment = BuildEnvironment(input);
    Map map;
    for (const std::string& variable : environment.variables) {
      const size_t equals = variable.find('=');
      EXPECT_TRUE(map.emplace(variable.substr(0, equals), variable.substr(equals + 1)).second) << variable;
    }
    return map;
  }

  v1::DesiredState desired = SampleState(1);
  EnvironmentInput input;
  Environment environment;
};

TEST_F(EnvironmentTest, TellsEverythingToAPlainProcess) {
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

TEST_F(EnvironmentTest, IdentityIsOursAndTheDifferenceIsTold) {
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

// It would tell a launcher's own processes to look for a store that nobody hosts.
TEST_F(EnvironmentTest, ALauncherWithAStoreOfItsOwnIsToldNothingOfOurs) {
  input.brings_own_store = true;
  input.inherited = {{"TORCHELASTIC_USE_AGENT_STORE", "True"}};
  const Map map = Build();
  EXPECT_FALSE(map.contains("TORCHELASTIC_USE_AGENT_STORE"));
  EXPECT_EQ(map.at("MASTER_PORT"), "40000");
}

TEST_F(EnvironmentTest, TensorFlowsConfigNamesAllTasks) {
  v1::PeerList peers = SamplePeers();
  input.peers = &peers;
  EXPECT_FALSE(Build().contains("TF_CONFIG"));
  input.has_tf_config = true;
  EXPECT_EQ(Build().at("TF_CONFIG"),
            R"({"cluster":{"worker":["10.0.0.1:41000","10.0.0.1:41001","10.0.0.1:41002","10.0.0.1:41003",)"
            R"("[fd00::2]:41004","[fd00::2]:41005"]},"task":{"type":"worker","index":5}})");
  input.inherited = {{"TF_CONFIG", "{}"}};
  Build();
  EXPECT_THAT(environment.replaced, ElementsAre(Pair("TF_CONFIG", "{}")));
}

TEST_F(EnvironmentTest, TensorFlowsConfigHasATaskForEachNodeOfOneProcess) {
  v1::PeerList peers = SamplePeers();
  input.peers = &peers;
  input.has_tf_config = true;
  input.is_one_for_node = true;
  input.slot = 0;
  EXPECT_EQ(Build().at("TF_CONFIG"),
            R"({"cluster":{"worker":["10.0.0.1:41000","[fd00::2]:41004"]},"task":{"type":"worker","index":1}})");
}

TEST_F(EnvironmentTest, TensorFlowsConfigHasAChiefBesideParameterServers) {
  v1::PeerList peers = SamplePeers();
  v1::PeerNode* server = peers.add_nodes();
  server->set_role(v1::ROLE_SERVER);
  server->set_address(IpAddress::Parse("10.0.0.3")->bytes());
  server->add_ring_ports(41006);
  input.peers = &peers;
  input.has_tf_config = true;
  EXPECT_EQ(Build().at("TF_CONFIG"),
            R"({"cluster":{"chief":["10.0.0.1:41000"],"worker":["10.0.0.1:41001","10.0.0.1:41002","10.0.0.1:41003",)"
            R"("[fd00::2]:41004","[fd00::2]:41005"],"ps":["10.0.0.3:41006"]},"task":{"type":"worker","index":4}})");
  desired.mutable_assignment()->set_role(v1::ROLE_SERVER);
  desired.mutable_assignment()->set_server_num(1);
  desired.mutable_assignment()->mutable_slots(1)->set_rank(0);
  EXPECT_THAT(Build().at("TF_CONFIG"), HasSubstr(R"("task":{"type":"ps","index":0})"));
}

// MindSpore would warn of a start by mpirun.
TEST_F(EnvironmentTest, DevicesAreADefaultUnlessTheyAreNamed) {
  input.device_variable = "ASCEND_RT_VISIBLE_DEVICES";
  input.visible_devices = "4,5";
  input.device_id = "0";
  input.offer.set_device_id("4");
  EXPECT_EQ(Build()["ASCEND_RT_VISIBLE_DEVICES"], "4,5");
  EXPECT_EQ(Build()["DEVICE_ID"], "0") << "what the process opens";
  input.inherited["ASCEND_RT_VISIBLE_DEVICES"] = "4,5,6";
  EXPECT_EQ(Build()["ASCEND_RT_VISIBLE_DEVICES"], "4,5,6");
  input.are_devices_named = true;
  EXPECT_EQ(Build()["ASCEND_RT_VISIBLE_DEVICES"], "4,5");
  EXPECT_TRUE(environment.replaced.empty());
  input.overrides["ASCEND_RT_VISIBLE_DEVICES"] = "7";
  EXPECT_EQ(Build()["ASCEND_RT_VISIBLE_DEVICES"], "7");
}

TEST_F(EnvironmentTest, OpenMpisPlacementIsForThoseWhoWantIt) {
  EXPECT_FALSE(Build().contains("OMPI_COMM_WORLD_RANK"));
  input.has_ompi = true;
  const Map map = Build();
  EXPECT_EQ(map.at("OMPI_COMM_WORLD_RANK"), "5");
  EXPECT_EQ(map.at("OMPI_COMM_WORLD_SIZE"), "6");
  EXPECT_EQ(map.at("OMPI_COMM_WORLD_LOCAL_RANK"), "1");
  EXPECT_EQ(map.at("OMPI_COMM_WORLD_LOCAL_SIZE"), "2");
  EXPECT_EQ(map.at("OMPI_COMM_WORLD_NODE_RANK"), "1");
  input.has_ompi = false;
  input.inherited = {{"OMPI_COMM_WORLD_RANK", "0"}, {"OMPI_COMM_WORLD_SIZE", "2"}};
  EXPECT_EQ(Build().at("OMPI_COMM_WORLD_RANK"), "5") << "mpirun started the agent: its rank is not the process's";
}

TEST_F(EnvironmentTest, JaxAndTorchftFindTheirGateways) {
  for (const char* name : {"JAX_COORDINATOR_ADDRESS", "OMPI_MCA_orte_hnp_uri", "TORCHFT_LIGHTHOUSE"}) {
    EXPECT_FALSE(Build().contains(name)) << name;
  }
  input.jax_port = 4711;
  input.lighthouse_port = 4712;
  Map map = Build();
  EXPECT_EQ(map.at("JAX_COORDINATOR_ADDRESS"), "127.0.0.1:4711");
  EXPECT_EQ(map.at("JAX_NUM_PROCESSES"), "6");
  EXPECT_EQ(map.at("JAX_PROCESS_ID"), "5");
  EXPECT_EQ(map.at("TORCHFT_LIGHTHOUSE"), "http://127.0.0.1:4712");
  EXPECT_FALSE(map.contains("OMPI_MCA_orte_hnp_uri"));
  input.has_ompi = input.is_jax_detected = true;
  map = Build();
  EXPECT_EQ(map.at("OMPI_MCA_orte_hnp_uri"), "4096.0;tcp://127.0.0.1:1");
  EXPECT_EQ(map.at("OMPI_COMM_WORLD_RANK"), "5");
}

TEST_F(EnvironmentTest, AnotherLaunchersWordsAreNotForMpisRanks) {
  input.inherited = {{"PMI_RANK", "7"}, {"PMI_FD", "3"}, {"PMIX_NAMESPACE", "slurm"}, {"PMIC", "x"}};
  EXPECT_EQ(Build().at("PMIX_NAMESPACE"), "slurm") << "not served: it is none of ours";
  EXPECT_FALSE(Build().contains("MPI_LOCALRANKID"));
  input.has_mpi = true;
  input.mpi_variables = {{"PMI_RANK", "5"}, {"JSM_JSRUN_PORT", "1"}};
  const Map map = Build();
  EXPECT_EQ(map.at("PMI_RANK"), "5");
  EXPECT_EQ(map.at("JSM_JSRUN_PORT"), "1");
  EXPECT_EQ(map.at("MPI_LOCALRANKID"), "1");
  EXPECT_EQ(map.at("MPI_LOCALNRANKS"), "2");
  EXPECT_EQ(map.at("PMIC"), "x");
  EXPECT_FALSE(map.contains("PMI_FD"));
  EXPECT_FALSE(map.contains("PMIX_NAMESPACE"));
}

TEST_F(EnvironmentTest, MpisRanksThatShareCpusYield) {
  input.has_mpi = true;
  EXPECT_FALSE(Build().contains("OMPI_MCA_mpi_yield_when_idle"));
  input.shares_cpus = true;
  EXPECT_EQ(Build().at("OMPI_MCA_mpi_yield_when_idle"), "1");
  input.inherited = {{"OMPI_MCA_mpi_yield_when_idle", "0"}};
  EXPECT_EQ(Build().at("OMPI_MCA_mpi_yield_when_idle"), "0");
}

TEST_F(EnvironmentTest, TheInterfaceOfCollectivesIsTheUsersWhenSet) {
  EXPECT_FALSE(Build().contains("GLOO_SOCKET_IFNAME"));
  input.collective_interface = "eth0";
  input.inherited = {{"TP_SOCKET_IFNAME", "eth7"}};
  const Map map = Build();
  EXPECT_EQ(map.at("GLOO_SOCKET_IFNAME"), "eth0");
  EXPECT_EQ(map.at("TP_SOCKET_IFNAME"), "eth7");
  EXPECT_FALSE(map.contains("NCCL_SOCKET_IFNAME"));
  EXPECT_FALSE(map.contains("HCCL_SOCKET_IFNAME"));
}

// An agent that runs inside a process of another one must not write into that one's files.
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
  input.inherited = {{"PYTHONPATH", "/opt/lib/muster/python:/mine"}};  // an agent below an agent
  EXPECT_EQ(Build().at("PYTHONPATH"), "/opt/lib/muster/python:/mine");
  EXPECT_THAT(environment.replaced, IsEmpty());
  input.overrides = {{"PYTHONPATH", "/only"}};
  EXPECT_EQ(Build().at("PYTHONPATH"), "/only");
}

TEST_F(EnvironmentTest, TheDocumentsVariablesAreNoNews) {
  input.node_id = "node-b";  // the agent's id, which is not the process's rank
  input.inherited = {{"MS_ROLE", "MS_WORKER"}, {"MS_WORKER_NUM", "6"},    {"MS_SCHED_HOST", "node1"},
                     {"MS_NODE_ID", "node-b"}, {"MS_SCHED_PORT", "8118"}, {"HOME", "/root"}};
  const Map map = Build();
  EXPECT_EQ(map.at("MS_NODE_ID"), "5");
  EXPECT_EQ(map.at("MUSTER_NODE_ID"), "node-b");
  EXPECT_EQ(map.at("HOME"), "/root");
  EXPECT_THAT(environment.replaced, IsEmpty());
  input.inherited["MS_NODE_ID"] = "9";  // not what the agent calls itself
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

  input.master_address = "10.1.1.1";  // a flag stands above an inherited variable
  input.master_port = "29501";
  map = Build();
  EXPECT_EQ(map.at("MASTER_ADDR"), "10.1.1.1");
  EXPECT_EQ(map.at("MASTER_PORT"), "29501");

  input.master_address.clear();
  input.inherited = {{"MASTER_ADDR", ""}};  // exported but empty: of no use to anybody
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

TEST_F(EnvironmentTest, HcclOnlyWhereDevicesHaveAddresses) {
  input.inherited = {{"RANK_TABLE_FILE", "/old.json"}};
  Map map = Build();
  EXPECT_FALSE(map.contains("RANK_TABLE_FILE"));
  EXPECT_FALSE(map.contains("HCCL_IF_IP"));
  EXPECT_THAT(environment.replaced, ElementsAre(Pair("RANK_TABLE_FILE", "/old.json")));

  input.rank_table_file = "/table.json";
  input.offer.set_device_id("6");
  input.offer.set_device_address("192.168.1.6");
  input.inherited = {{"HCCL_WHITELIST_DISABLE", "0"}};
  map = Build();
  EXPECT_EQ(map.at("RANK_TABLE_FILE"), "/table.json");
  EXPECT_EQ(map.at("DEVICE_ID"), "6");
  EXPECT_EQ(map.at("HCCL_IF_IP"), "10.0.0.2");
  EXPECT_EQ(map.at("HCCL_WHITELIST_DISABLE"), "0");
}

TEST_F(EnvironmentTest, ARankTableAndAChiefAreNeverToldTogether) {
  input.inherited = {{"RANK_TABLE_FILE", "/old.json"}, {"CM_CHIEF_IP", "9.9.9.9"},  {"CM_CHIEF_PORT", "1"},
                     {"CM_CHIEF_DEVICE", "9"},         {"CM_WORKER_IP", "9.9.9.9"}, {"CM_WORKER_SIZE", "99"}};
  Map map = Build();  // neither: CM_* are the user's own affair
  EXPECT_FALSE(map.contains("RANK_TABLE_FILE"));
  EXPECT_EQ(map.at("CM_CHIEF_IP"), "9.9.9.9");

  input.rank_table_file = "/w/rank_table-2.json";
  map = Build();
  EXPECT_EQ(map.at("RANK_TABLE_FILE"), "/w/rank_table-2.json");
  EXPECT_EQ(map.at("RANK_ID"), "5");
  for (const auto& variable : map) EXPECT_THAT(variable.first, Not(HasSubstr("CM_")));
  EXPECT_THAT(environment.replaced, Contains(Pair("CM_CHIEF_IP", "9.9.9.9")));

  input.rank_table_file.clear();
  input.hccl_chief = HcclChief{"10.0.0.1", 60000, "4"};
  input.offer.set_device_id("6");
  map = Build();
  const Map told = {{"CM_CHIEF_IP", "10.0.0.1"},  {"CM_CHIEF_PORT", "60000"}, {"CM_CHIEF_DEVICE", "4"},
                    {"CM_WORKER_IP", "10.0.0.2"}, {"CM_WORKER_SIZE", "6"},    {"ASCEND_DEVICE_ID", "6"}};
  for (const auto& [name, value] : told) EXPECT_EQ(map.at(name), value) << name;
  for (const char* name : {"RANK_TABLE_FILE", "RANK_ID", "RANK_SIZE", "DEVICE_ID"}) {
    EXPECT_FALSE(map.contains(name)) << name;
  }
  EXPECT_THAT(environment.replaced, Contains(Pair("RANK_TABLE_FILE", "/old.json")));
  EXPECT_EQ(map.at("HCCL_IF_BASE_PORT"), "60000");
  EXPECT_EQ(map.at("HCCL_CONNECT_TIMEOUT"), "120");
}

TEST_F(EnvironmentTest, CrossCountsMachinesThatHaveTheLocalRank) {
  const v1::PeerList peers = SamplePeers();
  input.peers = &peers;
  Map map = Build();
  EXPECT_EQ(map.at("HOROVOD_CROSS_RANK"), "1");
  EXPECT_EQ(map.at("HOROVOD_CROSS_SIZE"), "2");
  desired = SampleState(0);
  input.slot = 3;  // only the first machine has four
  map = Build();
  EXPECT_EQ(map.at("HOROVOD_CROSS_RANK"), "0");
  EXPECT_EQ(map.at("HOROVOD_CROSS_SIZE"), "1");
}

TEST_F(EnvironmentTest, WhatHorovodrunWouldPassOnIsNotSaid) {
  input.is_one_for_node = true;
  input.inherited["HOROVOD_RANK"] = "7";
  const Map map = Build();
  for (const auto& [name, value] : map) EXPECT_FALSE(name.starts_with("HOROVOD_")) << name << "=" << value;
}

TEST_F(EnvironmentTest, HorovodIsToldItsRendezvousWhereItIsServed) {
  input.inherited["HOROVOD_GLOO_RENDEZVOUS_PORT"] = "1";
  EXPECT_FALSE(Build().contains("HOROVOD_CONTROLLER"));
  input.horovod_port = 4711;
  input.collective_interface = "eth1";
  Map map = Build();
  EXPECT_EQ(map.at("HOROVOD_CONTROLLER"), "gloo");
  EXPECT_EQ(map.at("HOROVOD_CPU_OPERATIONS"), "gloo");
  EXPECT_EQ(map.at("HOROVOD_GLOO_RENDEZVOUS_ADDR"), "127.0.0.1");
  EXPECT_EQ(map.at("HOROVOD_GLOO_RENDEZVOUS_PORT"), "4711");
  EXPECT_EQ(map.at("HOROVOD_GLOO_IFACE"), "eth1");
  EXPECT_EQ(map.at("HOROVOD_HOSTNAME"), "machine-1");
  input.inherited["HOROVOD_GLOO_IFACE"] = "ib0";
  EXPECT_EQ(Build().at("HOROVOD_GLOO_IFACE"), "ib0");
  input.horovod_port = 0;
  input.has_horovod_mpi = true;
  map = Build();
  EXPECT_EQ(map.at("HOROVOD_CONTROLLER"), "mpi");
  EXPECT_EQ(map.at("HOROVOD_CPU_OPERATIONS"), "mpi");
}

TEST_F(EnvironmentTest, RecoveryIsToldWhenItIsSettled) {
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
  EXPECT_EQ(values.size(), std::size(pairs) + 1);
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

TEST_F(EnvironmentTest, WhoNamesPartOfTheMasterGetsTheRestOfRank0s) {
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
                     {"MASTER_PORT", "3000"},
                     {"MASTER_ADDR", "{master_addr}"},
                     {"JSON", "{\"a\": {x}}"},
                     {"LITERAL", "{{rank}}"}};
  const Map map = Build();
  EXPECT_EQ(map.at("CACHE"), "/tmp/digits/" + map.at("RANK") + "-1");
  EXPECT_EQ(map.at("URL"), "tcp://" + map.at("MASTER_ADDR") + ":3000");
  EXPECT_THAT(map.at("MASTER_ADDR"), Not(HasSubstr("{")));
  EXPECT_EQ(map.at("JSON"), "{\"a\": {x}}");
  EXPECT_EQ(map.at("LITERAL"), "{rank}");
  EXPECT_THAT(environment.replaced, IsEmpty());
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
