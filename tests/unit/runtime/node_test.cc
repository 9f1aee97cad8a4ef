// The surroundings of the loop: the node's description, a scheduler of its own, signals, the event queue.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <fstream>
#include <set>

#include "absl/strings/str_cat.h"
#include "common/net/net.h"
#include "tests/unit/launch/temporary_folder.h"
#include "worker_agent/node/listening_sockets.h"
#include "worker_agent/node/node_description.h"
#include "worker_agent/node/own_scheduler.h"
#include "worker_agent/runtime/signals.h"

namespace muster::agent {
namespace {

using ::testing::AllOf;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

bool IsReadable(int fd) {
  pollfd wait{fd, POLLIN, 0};
  return poll(&wait, 1, 0) == 1;
}

TEST(NodeDescription, SaysWhatTheSettingsSay) {
  AgentSettings settings;
  settings.local_worker_num = "3";
  settings.worker_num = 6;
  settings.enable_recovery = false;
  settings.topo_timeout = absl::InfiniteDuration();
  settings.worker_ip = "10.1.2.3";
  settings.node_rank = 4;
  settings.labels = {"rack=r1", "switch=s2"};
  settings.master_addr = "localhost";
  settings.master_port = "29500";
  settings.machine = "m";
  settings.command = {"train"};
  const auto description = DescribeNode(settings, {}, {}, {{}, *ResolveHost("localhost")});
  ASSERT_TRUE(description.ok()) << description.status();
  const v1::NodeInfo& node = description->node;
  EXPECT_EQ(node.role(), v1::ROLE_WORKER);
  EXPECT_EQ(node.address(), "10.1.2.3");
  EXPECT_EQ(node.node_rank(), 4u);
  EXPECT_EQ(node.label_path(), "rack=r1/switch=s2");
  EXPECT_EQ(node.wanted_master_port(), 29500u);
  EXPECT_THAT(node.wanted_master_address(), testing::AnyOf("127.0.0.1", "::1"));
  EXPECT_THAT(node.machine_id(), HasSubstr("m"));
  EXPECT_FALSE(node.is_processless());
  EXPECT_EQ(description->own_address, "10.1.2.3");
  EXPECT_EQ(description->settings.worker_num(), 6u);
  EXPECT_FALSE(description->settings.has_server_num());
  EXPECT_TRUE(description->settings.has_enable_recovery());
  EXPECT_EQ(description->settings.topo_timeout_ms(), -1);
  EXPECT_EQ(description->settings.preflight(), "none") << "said, so that it can differ from another node's";
  std::set<uint32_t> ports = {node.master_port()};
  for (const v1::SlotOffer& slot : node.slots()) ports.insert(slot.ring_port());
  EXPECT_EQ(ports.size(), 4u);  // all different
  EXPECT_FALSE(ports.contains(0));
}

TEST(NodeDescription, RankTablesNameTheDevicesThatAreVisibleHere) {
  const TemporaryFolder root;
  std::filesystem::create_directories(root.path() + "/dev");
  for (const int device : {4, 5, 6, 7}) std::ofstream(absl::StrCat(root.path(), "/dev/davinci", device));
  AgentSettings settings;
  settings.local_worker_num = "2";
  settings.hccl_mode = "chief";
  settings.command = {"train"};
  const auto description = DescribeNode(settings, {{"MUSTER_HOST_ROOT", root.path()}}, {}, {});
  ASSERT_TRUE(description.ok()) << description.status();
  EXPECT_EQ(description->node.slots(0).device_id(), "4");
  EXPECT_EQ(description->node.slots(1).device_id(), "5");
}

TEST(NodeDescription, WithoutACommandItHasNoProcesses) {
  const auto description = DescribeNode(AgentSettings(), {}, {}, {*ResolveHost("127.0.0.1"), {}});
  ASSERT_TRUE(description.ok()) << description.status();
  EXPECT_TRUE(description->node.is_processless());
  EXPECT_EQ(description->own_address, "127.0.0.1");
  EXPECT_FALSE(description->node.has_node_rank());
}

TEST(NodeDescription, WrongSettingsAreNamed) {
  AgentSettings settings;
  settings.rank_table_file = "/no/such/table.json";
  EXPECT_THAT(std::string(DescribeNode(settings, {}, {}, {}).status().message()), HasSubstr("/no/such/table.json"));
}

TEST(TakeSizeOfRankTable, GivesWhatIsNotSet) {
  const std::string path = testing::TempDir() + "/node_test." + std::to_string(getpid()) + ".json";
  std::ofstream(path) << R"({"version": "1.0", "status": "completed", "server_count": "2", "server_list": [
      {"server_id": "10.9.9.9", "device": [{"device_id": "0", "device_ip": "192.168.9.1", "rank_id": "0"}]},
      {"server_id": "127.0.0.1", "device": [{"device_id": "0", "device_ip": "192.168.9.2", "rank_id": "1"},
                                            {"device_id": "1", "device_ip": "192.168.9.3", "rank_id": "2"}]}]})";
  AgentSettings nothing;
  EXPECT_TRUE(TakeSizeOfRankTable(nothing, false).ok());
  EXPECT_FALSE(nothing.worker_num);

  AgentSettings bare;
  bare.rank_table_file = path;
  bare.worker_ip = "127.0.0.1";
  AgentSettings slots = bare, sized = bare, elsewhere = bare, broken = bare;
  EXPECT_TRUE(TakeSizeOfRankTable(bare, false).ok());
  EXPECT_EQ(bare.worker_num, 3u);
  EXPECT_EQ(bare.local_worker_num, "2");
  EXPECT_TRUE(TakeSizeOfRankTable(slots, true).ok());
  EXPECT_EQ(slots.worker_num, 3u);
  EXPECT_EQ(slots.local_worker_num, "1") << "agents that share a machine";
  sized.worker_num = 3;
  EXPECT_TRUE(TakeSizeOfRankTable(sized, false).ok());
  EXPECT_EQ(sized.local_worker_num, "1") << "as ever: an agent for each process";
  sized.standalone = true;
  EXPECT_TRUE(TakeSizeOfRankTable(sized, false).ok());
  EXPECT_EQ(sized.worker_num, 3u);
  EXPECT_EQ(sized.local_worker_num, "2") << "there is no other agent";
  elsewhere.worker_ip = "10.8.8.8";
  EXPECT_THAT(std::string(TakeSizeOfRankTable(elsewhere, false).message()), HasSubstr("not in the rank table"));
  std::ofstream(path) << "{";
  EXPECT_THAT(std::string(TakeSizeOfRankTable(broken, false).message()), HasSubstr(path));
  unlink(path.c_str());
}

TEST(NodeDescription, IncarnationsDiffer) {
  EXPECT_NE(NewIncarnation(), 0u);
  EXPECT_NE(NewIncarnation(), NewIncarnation());
}

TEST(OwnScheduler, TheFlagsOfACommandLineStandBeforeTheCommand) {
  EXPECT_THAT(FlagsOf({"--worker_num", "4", "--", "python", "train.py"}, {"python", "train.py"}),
              ElementsAre("--worker_num", "4"));
  EXPECT_THAT(FlagsOf({"--worker_num=4", "python"}, {"python"}), ElementsAre("--worker_num=4"));
  EXPECT_THAT(FlagsOf({"--worker_num=4"}, {}), ElementsAre("--worker_num=4"));
  EXPECT_THAT(FlagsOf({}, {}), IsEmpty());
}

TEST(OwnScheduler, IsStartedWithTheAgentsSettings) {
  AgentSettings settings;
  settings.sched_port = 9000;
  settings.worker_num = 4;
  settings.enable_recovery = true;
  settings.topo_timeout = absl::InfiniteDuration();
  settings.scheduler_flags = {"--node_timeout=60"};
  std::vector<std::string> flags = OwnSchedulerFlags(settings);
  EXPECT_THAT(flags,
              AllOf(Contains("--once"), Contains("--sched_port=9000"), Contains("--worker_num=4"),
                    Contains("--enable_recovery=1"), Contains("--topo_timeout=-1"), Contains("--log_level=error")));
  EXPECT_THAT(flags, Not(Contains(HasSubstr("server_num"))));
  EXPECT_EQ(flags.back(), "--node_timeout=60");  // the user's flags come last, and the last value of a flag counts
  settings.scheduler_flags = {"--log_file=/tmp/log"};
  EXPECT_THAT(OwnSchedulerFlags(settings), Contains("--log_level=info")) << "a user that names a file wants to read it";
  settings.log_dir = "/logs";
  EXPECT_THAT(OwnSchedulerFlags(settings), Contains("--log_file=/logs/scheduler.log"));
  settings.scheduler_config = {"--mindspore_port=8119"};
  settings.standalone = true;
  EXPECT_THAT(OwnSchedulerFlags(settings), Not(Contains("--mindspore_port=8119"))) << "of the cluster's scheduler";
  settings.standalone = false;
  settings.with_scheduler = true;
  EXPECT_THAT(OwnSchedulerFlags(settings), Contains("--mindspore_port=8119"));
}

TEST(OwnScheduler, HasItsJournalInAFileAsItsFlagsSay) {
  AgentSettings settings;
  EXPECT_FALSE(HasJournalFile(OwnSchedulerFlags(settings), "")) << "--once without recovery";
  EXPECT_TRUE(HasJournalFile(OwnSchedulerFlags(settings), "/tmp/journal.db")) << "MS_JOURNAL_PATH";
  EXPECT_FALSE(HasJournalFile(OwnSchedulerFlags(settings), "memory"));
  settings.enable_recovery = true;
  EXPECT_TRUE(HasJournalFile(OwnSchedulerFlags(settings), ""));
  settings.scheduler_flags = {"--journal_path=memory"};
  EXPECT_FALSE(HasJournalFile(OwnSchedulerFlags(settings), ""));
  settings.scheduler_flags = {};
  settings.standalone = true;
  EXPECT_FALSE(HasJournalFile(OwnSchedulerFlags(settings), "/tmp/journal.db")) << "a flag comes first";
  EXPECT_FALSE(HasJournalFile(OwnSchedulerFlags(settings), ""));
  settings.scheduler_flags = {"--journal_path=/tmp/journal.db"};
  EXPECT_TRUE(HasJournalFile(OwnSchedulerFlags(settings), ""));
}

TEST(OwnScheduler, IsNotStartedUnlessWanted) {
  AgentSettings settings;
  const auto scheduler = OwnScheduler::StartIfWanted(settings, {}, "/tmp");
  ASSERT_TRUE(scheduler.ok());
  EXPECT_EQ(*scheduler, nullptr);
}

bool CanBind(uint16_t port) {
  const int other = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(port);
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  const bool is_bound = bind(other, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0;
  close(other);
  return is_bound;
}

TEST(OwnScheduler, ItsPortIsKeptUntilItListens) {
  AgentSettings settings;
  settings.standalone = true;
  settings.sched_port = 0;
  const auto scheduler = OwnScheduler::StartIfWanted(settings, {}, "/tmp");
  ASSERT_TRUE(scheduler.ok()) << scheduler.status();
  const pid_t pid = (*scheduler)->pid();
  kill(pid, SIGKILL);  // before it has bound the port
  siginfo_t info{};
  ASSERT_EQ(waitid(P_PID, static_cast<id_t>(pid), &info, WEXITED | WNOWAIT), 0);
  EXPECT_FALSE(CanBind(settings.sched_port));
  EXPECT_FALSE((*scheduler)->WaitUntilItListens(settings).ok());
  EXPECT_TRUE(CanBind(settings.sched_port)) << "from then on it is the child's";
}

TEST(OwnScheduler, StandaloneTakesTheTypedPortOrSaysThatItIsTaken) {
  absl::StatusOr<ReservedPort> reserved = ReservedPort::Reserve({});
  ASSERT_TRUE(reserved.ok()) << reserved.status();
  AgentSettings settings;
  settings.standalone = true;
  const uint16_t port = settings.sched_port = reserved->port();
  const auto taken = OwnScheduler::StartIfWanted(settings, {}, "/tmp");
  EXPECT_THAT(std::string(taken.status().message()),
              HasSubstr(absl::StrCat("port ", port, " (--sched_port) is in use on this machine")));
  { const ReservedPort let_go = *std::move(reserved); }
  const auto scheduler = OwnScheduler::StartIfWanted(settings, {}, "/tmp");
  ASSERT_TRUE(scheduler.ok()) << scheduler.status();
  EXPECT_EQ(settings.sched_port, port);
}

TEST(ListeningSockets, AreReadFromTheKernelsList) {
  const std::string tcp =
      "  sl  local_address rem_address   st tx_queue rx_queue\n"
      "   0: 0100007F:1FB6 00000000:0000 0A 00000000:00000000 00:00000000 00000000     0        0 1 1\n"
      "   1: 0900000A:1FB7 0100000A:9999 01 00000000:00000000 00:00000000 00000000     0        0 2 1\n"
      "   2: 00000000:1FB8 00000000:0000 0A 00000000:00000000 00:00000000 00000000     0        0 3 1\n"
      "   3: 00000000000000000000000001000000:1FB9 00000000000000000000000000000000:0000 0A 0:0 00:0 0 0 0 4 1\n";
  const IpAddress loopback = *IpAddress::Parse("127.0.0.1");
  const IpAddress other = *IpAddress::Parse("10.0.0.9");
  EXPECT_TRUE(HasListener(tcp, loopback, 8118));
  EXPECT_FALSE(HasListener(tcp, other, 8118));
  EXPECT_FALSE(HasListener(tcp, other, 8119));  // a connection, no listener
  EXPECT_TRUE(HasListener(tcp, other, 8120));   // all addresses
  EXPECT_TRUE(HasListener(tcp, *IpAddress::Parse("::1"), 8121));
  EXPECT_FALSE(HasListener("garbage\n1: 2 3 0A\n", loopback, 8118));
}

TEST(Signals, WhatIsIgnoredStaysSoAndTheRestIsRead) {
  signal(SIGHUP, SIG_IGN);
  Signals signals;
  EXPECT_FALSE(signals.Take().has_value());
  raise(SIGHUP);
  EXPECT_FALSE(signals.Take().has_value());
  kill(getpid(), SIGTERM);
  EXPECT_TRUE(IsReadable(signals.fd()));
  EXPECT_EQ(signals.Take(), SIGTERM);
  kill(getpid(), SIGUSR1);
  EXPECT_EQ(signals.Take(), SIGUSR1);
  EXPECT_TRUE(Signals::IsForwarded(SIGUSR1));
  EXPECT_FALSE(Signals::IsForwarded(SIGTERM));
}

TEST(Signals, WhatIsForwardedEndsNothing) {
  Signals signals;
  EXPECT_FALSE(signals.TakeEnd());
  kill(getpid(), SIGUSR1);
  kill(getpid(), SIGUSR2);
  EXPECT_FALSE(signals.TakeEnd());
  EXPECT_FALSE(IsReadable(signals.fd())) << "there is no process left to forward them to";
  kill(getpid(), SIGUSR1);
  kill(getpid(), SIGTERM);
  EXPECT_TRUE(signals.TakeEnd());
}

}  // namespace
}  // namespace muster::agent
