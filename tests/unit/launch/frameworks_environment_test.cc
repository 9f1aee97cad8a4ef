// The variables that frameworks and launchers expect.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

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

class FrameworksEnvironmentTest : public EnvironmentTest {};

// TORCHELASTIC_USE_AGENT_STORE would make a launcher's own processes look for a store that does not exist.
TEST_F(FrameworksEnvironmentTest, ALauncherWithAStoreOfItsOwnGetsNothingOfOurs) {
  input.brings_own_store = true;
  input.inherited = {{"TORCHELASTIC_USE_AGENT_STORE", "True"}};
  const Map map = Build();
  EXPECT_FALSE(map.contains("TORCHELASTIC_USE_AGENT_STORE"));
  EXPECT_EQ(map.at("MASTER_PORT"), "40000");
}

TEST_F(FrameworksEnvironmentTest, TensorFlowsConfigNamesAllTasks) {
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

TEST_F(FrameworksEnvironmentTest, TensorFlowsConfigHasATaskForEachNodeOfOneProcess) {
  v1::PeerList peers = SamplePeers();
  input.peers = &peers;
  input.has_tf_config = true;
  input.is_one_for_node = true;
  input.slot = 0;
  EXPECT_EQ(Build().at("TF_CONFIG"),
            R"({"cluster":{"worker":["10.0.0.1:41000","[fd00::2]:41004"]},"task":{"type":"worker","index":1}})");
}

TEST_F(FrameworksEnvironmentTest, TensorFlowsConfigHasAChiefBesideParameterServers) {
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

// MindSpore would warn about a start by mpirun.
TEST_F(FrameworksEnvironmentTest, DevicesAreADefaultUnlessTheyAreNamed) {
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

TEST_F(FrameworksEnvironmentTest, OpenMpisPlacementIsOptIn) {
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

TEST_F(FrameworksEnvironmentTest, JaxAndTorchftFindTheirGateways) {
  for (const char* name : {"JAX_COORDINATOR_ADDRESS", "OMPI_MCA_orte_hnp_uri", "TORCHFT_LIGHTHOUSE"}) {
    EXPECT_FALSE(Build().contains(name)) << name;
  }
  input.jax_port = 4711;
  input.gateway_variables["TORCHFT_LIGHTHOUSE"] = "http://127.0.0.1:4712";
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

TEST_F(FrameworksEnvironmentTest, AnotherLaunchersWordsAreNotForMpisRanks) {
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

TEST_F(FrameworksEnvironmentTest, MpisRanksThatShareCpusYield) {
  input.has_mpi = true;
  EXPECT_FALSE(Build().contains("OMPI_MCA_mpi_yield_when_idle"));
  input.shares_cpus = true;
  EXPECT_EQ(Build().at("OMPI_MCA_mpi_yield_when_idle"), "1");
  input.inherited = {{"OMPI_MCA_mpi_yield_when_idle", "0"}};
  EXPECT_EQ(Build().at("OMPI_MCA_mpi_yield_when_idle"), "0");
}

TEST_F(FrameworksEnvironmentTest, TheInterfaceOfCollectivesIsTheUsersWhenSet) {
  EXPECT_FALSE(Build().contains("GLOO_SOCKET_IFNAME"));
  input.collective_interface = "eth0";
  input.inherited = {{"TP_SOCKET_IFNAME", "eth7"}};
  const Map map = Build();
  EXPECT_EQ(map.at("GLOO_SOCKET_IFNAME"), "eth0");
  EXPECT_EQ(map.at("TP_SOCKET_IFNAME"), "eth7");
  EXPECT_FALSE(map.contains("NCCL_SOCKET_IFNAME"));
  EXPECT_FALSE(map.contains("HCCL_SOCKET_IFNAME"));
}

TEST_F(FrameworksEnvironmentTest, HcclOnlyWhereDevicesHaveAddresses) {
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

TEST_F(FrameworksEnvironmentTest, ARankTableAndAChiefAreNeverSetTogether) {
  input.inherited = {{"RANK_TABLE_FILE", "/old.json"}, {"CM_CHIEF_IP", "9.9.9.9"},  {"CM_CHIEF_PORT", "1"},
                     {"CM_CHIEF_DEVICE", "9"},         {"CM_WORKER_IP", "9.9.9.9"}, {"CM_WORKER_SIZE", "99"}};
  Map map = Build();  // the user has set CM_*, and there is no rank table of ours
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
  const Map expected = {{"CM_CHIEF_IP", "10.0.0.1"},  {"CM_CHIEF_PORT", "60000"}, {"CM_CHIEF_DEVICE", "4"},
                        {"CM_WORKER_IP", "10.0.0.2"}, {"CM_WORKER_SIZE", "6"},    {"ASCEND_DEVICE_ID", "6"}};
  for (const auto& [name, value] : expected) EXPECT_EQ(map.at(name), value) << name;
  for (const char* name : {"RANK_TABLE_FILE", "RANK_ID", "RANK_SIZE", "DEVICE_ID"}) {
    EXPECT_FALSE(map.contains(name)) << name;
  }
  EXPECT_THAT(environment.replaced, Contains(Pair("RANK_TABLE_FILE", "/old.json")));
  EXPECT_EQ(map.at("HCCL_IF_BASE_PORT"), "60000");
  EXPECT_EQ(map.at("HCCL_CONNECT_TIMEOUT"), "120");
}

TEST_F(FrameworksEnvironmentTest, HcclsRangesOfPortsAreKept) {
  input.rank_table_file = "/w/rank_table-2.json";
  input.inherited = {{"HCCL_HOST_SOCKET_PORT_RANGE", "61000-61050"}, {"HCCL_NPU_SOCKET_PORT_RANGE", "auto"}};
  const Map map = Build();
  EXPECT_EQ(map.at("HCCL_HOST_SOCKET_PORT_RANGE"), "61000-61050");
  EXPECT_EQ(map.at("HCCL_NPU_SOCKET_PORT_RANGE"), "auto");
  EXPECT_EQ(map.at("HCCL_IF_BASE_PORT"), "60000") << "HCCL ignores it beside the range";
}

TEST_F(FrameworksEnvironmentTest, CrossCountsMachinesThatHaveTheLocalRank) {
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

TEST_F(FrameworksEnvironmentTest, WhatHorovodrunWouldPassOnIsNotSaid) {
  input.is_one_for_node = true;
  input.inherited["HOROVOD_RANK"] = "7";
  const Map map = Build();
  for (const auto& [name, value] : map) EXPECT_FALSE(name.starts_with("HOROVOD_")) << name << "=" << value;
}

TEST_F(FrameworksEnvironmentTest, HorovodGetsItsRendezvousWhereItIsServed) {
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

}  // namespace
}  // namespace muster::agent
