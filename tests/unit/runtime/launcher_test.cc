#include "worker_agent/runtime/launcher.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <stdlib.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "common/base/sha256.h"
#include "worker_agent/launch/slot_files.h"

namespace muster::agent {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::SizeIs;

// A node with `slots` ranks from `first_rank` on, of a world of 8.
class LauncherTest : public ::testing::Test {
 protected:
  LauncherTest() {
    char folder[] = "/tmp/muster-launcher-test-XXXXXX";
    folder_ = mkdtemp(folder);
    options_.work_folder = folder_;
    options_.own_address = "10.0.0.9";
    options_.environment = {{"PATH", "/bin"}, {"RANK", "99"}};
    options_.settings.command = {"train", "--rank={rank}"};
  }
  ~LauncherTest() override { std::filesystem::remove_all(folder_); }

  void SetSlots(uint32_t slots, uint32_t first_rank = 0) {
    v1::Assignment& assignment = *launch_.desired.mutable_assignment();
    launch_.desired.set_run(1);
    launch_.desired.set_round(1);
    assignment.set_role(v1::ROLE_WORKER);
    assignment.set_worker_num(8);
    assignment.set_local_world_size(slots);
    assignment.set_machine_num(1);
    for (uint32_t i = 0; i < slots; ++i) {
      options_.node.add_slots();
      v1::SlotAssignment& slot = *assignment.add_slots();
      slot.set_rank(first_rank + i);
      slot.set_local_rank(i);
      slot.set_should_run(true);
      launch_.slots.push_back(i);
    }
  }

  LaunchPlan Prepare() {
    if (launcher_ == nullptr) launcher_ = std::make_unique<Launcher>(options_);
    auto plan = launcher_->Prepare(launch_, "n1");
    EXPECT_TRUE(plan.ok()) << plan.status();
    return *std::move(plan);
  }

  std::string folder_;
  LauncherOptions options_;
  Launch launch_;
  std::unique_ptr<Launcher> launcher_;
};

TEST_F(LauncherTest, EachProcessGetsItsDeviceAndTheCpusThatAreNear) {
  SetSlots(2);
  const int cpu = AllowedCpus().front();
  const std::string node = folder_ + "/sys/devices/system/node/node1";
  std::filesystem::create_directories(node);
  std::ofstream(node + "/cpulist") << cpu << "-" << cpu << "\n";
  std::filesystem::create_directories(folder_ + "/sys/class/devdrv/davinci5/device");
  std::ofstream(folder_ + "/sys/class/devdrv/davinci5/device/numa_node") << "1\n";
  options_.roots.sys = folder_ + "/sys";
  options_.devices.kind = "Ascend";
  options_.devices.devices = {{4, 4, 4}, {5, 5, 5}};
  options_.node.mutable_slots(0)->set_device_id("4");
  options_.node.mutable_slots(1)->set_device_id("5");
  options_.settings.bind_core.is_device = true;
  options_.has_ascend = true;
  options_.environment["ASCEND_PROCESS_LOG_PATH"] = "/plogs";
  const LaunchPlan plan = Prepare();
  ASSERT_THAT(plan.specs, SizeIs(2));
  EXPECT_THAT(plan.specs[1].env, Contains("DEVICE_ID=1"));
  EXPECT_THAT(plan.specs[1].env, Contains("ASCEND_RT_VISIBLE_DEVICES=4,5"));
  EXPECT_THAT(plan.specs[0].cpus, IsEmpty());
  EXPECT_THAT(plan.specs[1].cpus, ElementsAre(cpu));
  EXPECT_THAT(plan.notices, Contains(HasSubstr("which CPUs device 4 is at")));
  EXPECT_EQ(plan.specs[1].device_logs, "/plogs");
}

TEST_F(LauncherTest, OneSlotPassesItsOutputUnchanged) {
  SetSlots(1, 3);
  const LaunchPlan plan = Prepare();
  ASSERT_THAT(plan.specs, SizeIs(1));
  const ProcessSpec& spec = plan.specs[0];
  EXPECT_TRUE(spec.passes_output);
  EXPECT_TRUE(spec.inherits_stdin);
  EXPECT_THAT(spec.argv, ElementsAre("train", "--rank=3"));
  EXPECT_THAT(spec.env, Contains("RANK=3"));
  EXPECT_THAT(spec.env, Contains("MS_CLUSTER_FILE=" + folder_ + "/cluster-1.json"));
  EXPECT_TRUE(std::filesystem::exists(folder_ + "/cluster-1.json"));
}

TEST_F(LauncherTest, WhatFormerRoundsLeftDoesNotPileUp) {
  SetSlots(2);
  Prepare();
  for (const char* name : {"progress-0.4711", "progress-1.4712", "progress-10.4713"}) {
    std::ofstream(folder_ + "/" + name) << "7";  // as if killed between write and rename
  }
  launch_.desired.mutable_assignment()->mutable_slots(0)->set_attempt(1);
  launch_.slots = {0};
  Prepare();
  EXPECT_TRUE(std::filesystem::exists(folder_ + "/cluster-1.json")) << "slot 1 runs on (--restart_scope worker)";
  EXPECT_FALSE(std::filesystem::exists(folder_ + "/progress-0.4711"));
  EXPECT_TRUE(std::filesystem::exists(folder_ + "/progress-1.4712"));
  EXPECT_TRUE(std::filesystem::exists(folder_ + "/progress-10.4713"));
  launch_.desired.set_round(2);
  Prepare();
  EXPECT_FALSE(std::filesystem::exists(folder_ + "/cluster-1.json"));
  EXPECT_TRUE(std::filesystem::exists(folder_ + "/cluster-2.json"));
}

TEST_F(LauncherTest, TheInterfaceOfCollectivesIsSetBetweenMachinesOnly) {
  SetSlots(1);
  options_.own_name = {{*IpAddress::Parse("127.0.1.1")}};
  options_.interfaces = [] { return std::vector<InterfaceAddress>{{"eth0", *IpAddress::Parse("10.0.0.9")}}; };
  EXPECT_THAT(Prepare().specs[0].env, Not(Contains("GLOO_SOCKET_IFNAME=eth0")));
  launch_.desired.mutable_assignment()->set_machine_num(2);
  EXPECT_THAT(Prepare().specs[0].env, Contains("GLOO_SOCKET_IFNAME=eth0"));
  EXPECT_THAT(Prepare().specs[0].env, Contains("TP_SOCKET_IFNAME=eth0"));
  options_.environment["GLOO_SOCKET_IFNAME"] = "ib0";
  launcher_.reset();
  EXPECT_THAT(Prepare().specs[0].env, Contains("GLOO_SOCKET_IFNAME=ib0"));
}

TEST_F(LauncherTest, AnInterfaceThatLeadsElsewhereIsWarnedOfOnce) {
  SetSlots(1);
  options_.interfaces = [] { return std::vector<InterfaceAddress>{{"eth0", *IpAddress::Parse("10.0.0.8")}}; };
  launch_.desired.mutable_assignment()->set_machine_num(2);
  EXPECT_THAT(Prepare().warnings, ElementsAre(HasSubstr("--worker_ip")));
  EXPECT_THAT(Prepare().warnings, IsEmpty());
}

// The other agent has ranks 0 and 1, devices 4 and 5.
TEST_F(LauncherTest, DevicesAreThoseOfTheRanksWhereAgentsShareAServerOfTheRankTable) {
  SetSlots(2, 2);
  for (uint32_t rank = 0; rank < 4; ++rank) {
    options_.node.add_table_ranks(rank);
    options_.table_devices[rank].set_device_id(std::to_string(4 + rank));
    options_.table_devices[rank].set_device_address("192.168.1." + std::to_string(rank));
  }
  v1::PeerList peers;
  peers.set_job_id("default");
  peers.set_run(1);
  peers.set_round(1);
  v1::PeerNode& other = *peers.add_nodes();
  other.set_role(v1::ROLE_WORKER);
  for (const uint32_t port : {40001, 40002}) other.add_ring_ports(port);
  launch_.peer_list = std::make_shared<const std::string>(peers.SerializeAsString());
  launch_.desired.set_peers_digest(Sha256(*launch_.peer_list));
  const LaunchPlan plan = Prepare();
  EXPECT_THAT(plan.specs[0].env, Contains("DEVICE_ID=6"));
  EXPECT_THAT(plan.specs[1].env, Contains("DEVICE_ID=7"));
  std::ifstream file(folder_ + "/cluster-1.json");
  const auto assignment = nlohmann::json::parse(file);
  EXPECT_EQ(assignment["local_ranks"][1]["device_id"], "7");
  EXPECT_EQ(assignment["peers"][1]["device_id"], "5");
  EXPECT_EQ(assignment["peers"][1]["device_address"], "192.168.1.1");

  options_.node.mutable_table_ranks()->RemoveLast();  // rank 3 belonged to another server: this node is its stand-in
  launcher_.reset();
  EXPECT_THAT(Prepare().specs[0].env, Contains("DEVICE_ID=0"));
}

TEST_F(LauncherTest, ThePreflightStandsInFrontOfTheCommandOnceARound) {
  SetSlots(1, 3);
  options_.settings.preflight = "ring";
  options_.ring_program = "/opt/bin/ms-ring";
  options_.hand_over = [](const std::string& fingerprint) { return HandOver{"FD of " + fingerprint, nullptr}; };
  launch_.desired.mutable_assignment()->set_certificate_fingerprint("\xcd");
  EXPECT_THAT(Prepare().specs[0].argv, ElementsAre("/opt/bin/ms-ring", "--", "train", "--rank=3"));
  EXPECT_EQ(Prepare().specs[0].hand_over.variable, "FD of cd") << "the peers expect that certificate in this round";
  launch_.desired.mutable_assignment()->mutable_slots(0)->set_attempt(1);
  EXPECT_THAT(Prepare().specs[0].argv, ElementsAre("/opt/bin/ms-ring", "--", "train", "--rank=3"))
      << "the check itself had failed, here and at the others";
  const std::string passed = PassedFile(folder_, 0);
  EXPECT_THAT(Prepare().specs[0].env, Contains("MUSTER_RING_PASSED=" + passed));
  std::ofstream(passed).flush();
  EXPECT_THAT(Prepare().specs[0].argv, ElementsAre("train", "--rank=3")) << "the others are training by now";
  EXPECT_EQ(Prepare().specs[0].hand_over.variable, "");
  launch_.desired.mutable_assignment()->mutable_slots(0)->set_attempt(0);  // of the next round
  EXPECT_THAT(Prepare().specs[0].argv, ElementsAre("/opt/bin/ms-ring", "--", "train", "--rank=3"));
  EXPECT_FALSE(std::filesystem::exists(passed));
}

TEST_F(LauncherTest, SeveralSlotsCarryTheirRank) {
  SetSlots(2, 4);
  const LaunchPlan plan = Prepare();
  ASSERT_THAT(plan.specs, SizeIs(2));
  EXPECT_EQ(plan.specs[1].prefix, "[rank 5] ");
  EXPECT_FALSE(plan.specs[1].passes_output);
  EXPECT_FALSE(plan.specs[1].inherits_stdin);
  EXPECT_THAT(plan.specs[1].log_path, IsEmpty());
}

TEST_F(LauncherTest, WithALogFolderRankZeroAloneIsLive) {
  SetSlots(2, 0);
  options_.settings.log_dir = folder_;
  launcher_ = std::make_unique<Launcher>(options_);
  launcher_->SetLogFolder(folder_);
  const LaunchPlan plan = Prepare();
  EXPECT_EQ(plan.specs[0].prefix, "[rank 0] ");
  EXPECT_THAT(plan.specs[1].prefix, IsEmpty());
}

TEST_F(LauncherTest, WithALogFolderTheTailedRanksAreLive) {
  SetSlots(2, 4);
  options_.settings.tail = *ParseTail("5");
  launcher_ = std::make_unique<Launcher>(options_);
  launcher_->SetLogFolder(folder_);
  const LaunchPlan plan = Prepare();
  EXPECT_EQ(plan.specs[0].log_path, folder_ + "/worker_4.log");
  EXPECT_THAT(plan.specs[0].prefix, IsEmpty());
  EXPECT_EQ(plan.specs[1].prefix, "[rank 5] ");
}

TEST_F(LauncherTest, OneProcessForTheNodeStandsForAllItsSlots) {
  SetSlots(3, 2);
  options_.settings.per_node = true;
  const LaunchPlan plan = Prepare();
  ASSERT_THAT(plan.specs, SizeIs(1));
  EXPECT_THAT(plan.specs[0].env, Contains("MUSTER_LOCAL_RANKS=0,1,2"));
  EXPECT_THAT(plan.followers.at(plan.specs[0].key), ElementsAre(ProcessKey{1, 1, 0}, ProcessKey{2, 1, 0}));
}

TEST_F(LauncherTest, ANodeRankThatAnotherAgentHasAsWellIsRefused) {
  SetSlots(2);
  launch_.desired.mutable_assignment()->set_local_world_size(4);
  options_.settings.per_node = true;
  const auto prepare = [&] { return Launcher(options_).Prepare(launch_, "n1").status(); };
  EXPECT_TRUE(prepare().ok()) << "the command doesn't ask";
  options_.settings.command = {"torchrun", "--node_rank={node_rank}"};
  EXPECT_THAT(
      std::string(prepare().message()),
      HasSubstr("--per_node: another agent of this job runs on this machine, so {node_rank} would be 0 for both"));
  EXPECT_THAT(std::string(prepare().message()), HasSubstr("--machine NAME"));
  launch_.desired.mutable_assignment()->set_local_world_size(2);
  EXPECT_TRUE(prepare().ok());
  options_.settings.command = {"train"};
  options_.settings.env = {{"NODE", "{node_rank}"}};
  launch_.desired.mutable_assignment()->set_local_world_size(4);
  EXPECT_FALSE(prepare().ok()) << "also in --env";
  options_.settings.per_node = false;
  EXPECT_TRUE(prepare().ok()) << "every process has a local rank besides";
}

TEST_F(LauncherTest, WhatAFormerProcessToldDoesNotCountForTheNextOne) {
  SetSlots(2);
  for (const char* name : {"/progress-0", "/stacks-0", "/progress-1", "/progress-2"}) {
    std::ofstream(folder_ + name) << "7";
  }
  const LaunchPlan plan = Prepare();
  ASSERT_THAT(plan.specs, SizeIs(2));
  EXPECT_THAT(plan.specs[1].env, Contains("MS_PROGRESS_FILE=" + folder_ + "/progress-1"));
  EXPECT_THAT(plan.specs[1].env, Contains("MS_STACKS_FILE=" + folder_ + "/stacks-1"));
  EXPECT_FALSE(std::filesystem::exists(folder_ + "/progress-0"));
  EXPECT_FALSE(std::filesystem::exists(folder_ + "/stacks-0"));
  EXPECT_FALSE(std::filesystem::exists(folder_ + "/progress-1"));
  EXPECT_TRUE(std::filesystem::exists(folder_ + "/progress-2")) << "it is not started now";
}

TEST_F(LauncherTest, OneProcessForTheJobIsOnTheFirstNode) {
  SetSlots(2, 2);
  options_.settings.per_job = true;
  LaunchPlan plan = Prepare();
  EXPECT_THAT(plan.specs, IsEmpty());
  EXPECT_THAT(plan.done_at_once, SizeIs(2));
  launch_.desired.mutable_assignment()->mutable_slots(0)->set_rank(0);
  plan = Prepare();
  EXPECT_THAT(plan.specs, SizeIs(1));
}

TEST_F(LauncherTest, WhereTheCommandOfTheJobDoesNotRunRemoteCommandsDo) {
  SetSlots(2, 2);
  options_.settings.per_job = true;
  options_.settings.allows_exec = true;
  options_.exec_program = "/usr/bin/ms-exec";
  LaunchPlan plan = Prepare();
  ASSERT_THAT(plan.specs, SizeIs(1));
  EXPECT_THAT(plan.specs[0].argv, ElementsAre("/usr/bin/ms-exec", "--serve"));
  EXPECT_THAT(plan.done_at_once, IsEmpty());
  launch_.desired.mutable_assignment()->mutable_slots(0)->set_rank(0);
  plan = Prepare();
  ASSERT_THAT(plan.specs, SizeIs(1));
  EXPECT_NE(plan.specs[0].argv[0], "/usr/bin/ms-exec");
}

TEST_F(LauncherTest, AnInheritedVariableThatIsReplacedIsReportedOnce) {
  SetSlots(2);
  EXPECT_THAT(Prepare().notices, ElementsAre(HasSubstr("RANK=99")));
  EXPECT_THAT(Prepare().notices, IsEmpty());
}

TEST_F(LauncherTest, TheOwnAddressIsTheOneThatThePeersKnow) {
  SetSlots(1);
  launch_.desired.mutable_assignment()->set_address(std::string("\x0a\x00\x00\x07", 4));
  Prepare();
  std::ifstream file(folder_ + "/cluster-1.json");
  const std::string text((std::istreambuf_iterator<char>(file)), {});
  EXPECT_THAT(text, HasSubstr("10.0.0.7"));
  EXPECT_THAT(text, Not(HasSubstr("10.0.0.9")));
}

constexpr char kWithoutFoo[] = "Foo's processes go on alone";

// A framework's own rendezvous, as a launcher sees it.
class FakeGateway final : public Gateway {
 public:
  absl::Status Begin(const GatewayRound& round) override {
    trace.push_back(absl::StrCat("begin ", round.round, " of ", round.node_id, " at ", round.own_address));
    return begun;
  }
  void AddTo(EnvironmentInput& input) const override {
    input.scheduler_port = 4000 + input.slot;
    input.has_gateway = true;
  }
  void Over(uint64_t run, uint32_t round) override { trace.push_back(absl::StrCat("over ", run, ".", round)); }

  absl::Status begun;
  std::vector<std::string> trace;
};

TEST_F(LauncherTest, AGatewayBeginsBeforeTheProcessesThatGetItsAddress) {
  SetSlots(2);
  FakeGateway gateway;
  launcher_ = std::make_unique<Launcher>(options_);
  launcher_->AddGateway(gateway, true, kWithoutFoo);
  const LaunchPlan plan = Prepare();
  EXPECT_THAT(plan.specs[0].env, Contains("MS_SCHED_PORT=4000"));
  EXPECT_THAT(plan.specs[1].env, Contains("MS_SCHED_PORT=4001"));
  Prepare();  // an attempt that starts again
  launcher_->EndRound(1, 1);
  launcher_->EndRound(1, 1);
  EXPECT_THAT(gateway.trace, ElementsAre("begin 1 of n1 at 10.0.0.9", "begin 1 of n1 at 10.0.0.9", "over 1.1"));
}

TEST_F(LauncherTest, WithoutAGatewayProcessesStartUnlessItIsRequired) {
  SetSlots(1);
  options_.settings.sched_port = 8118;
  FakeGateway gateway;
  gateway.begun = absl::UnavailableError("its port is taken");
  launcher_ = std::make_unique<Launcher>(options_);
  launcher_->AddGateway(gateway, false, kWithoutFoo);
  const LaunchPlan plan = Prepare();
  EXPECT_THAT(plan.specs[0].env, Contains("MS_SCHED_PORT=8118"));
  EXPECT_THAT(plan.notices, Contains("Foo's processes go on alone: its port is taken"));

  Launcher required(options_);
  required.AddGateway(gateway, true, kWithoutFoo);
  const auto refused = required.Prepare(launch_, "n1");
  ASSERT_FALSE(refused.ok());
  EXPECT_THAT(std::string(refused.status().message()), HasSubstr("its port is taken"));
}

TEST_F(LauncherTest, AFolderThatCantBeWrittenIsAnError) {
  SetSlots(1);
  options_.work_folder = folder_ + "/none";
  const auto plan = Launcher(options_).Prepare(launch_, "n1");
  EXPECT_FALSE(plan.ok());
  EXPECT_THAT(std::string(plan.status().message()), HasSubstr(folder_ + "/none"));
}

}  // namespace
}  // namespace muster::agent
