#include "worker_agent/ascend/chief.h"

#include <arpa/inet.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/socket.h>

#include "absl/strings/str_cat.h"
#include "common/base/unique_fd.h"
#include "common/net/ip_address.h"
#include "tests/unit/launch/temporary_folder.h"

namespace muster::agent {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

// Three nodes of two workers; rank 0 is on the second node.
v1::PeerList Peers() {
  v1::PeerList peers;
  for (uint32_t node = 0; node < 3; ++node) {
    v1::PeerNode& peer = *peers.add_nodes();
    peer.set_node_id(absl::StrCat("n", node));
    peer.set_role(v1::ROLE_WORKER);
    peer.set_machine(node);
    peer.set_address(IpAddress::Parse(absl::StrCat("10.0.0.", node + 1))->bytes());
    peer.set_first_rank(2 * ((node + 2) % 3));
    for (uint32_t slot = 0; slot < 2; ++slot) {
      peer.add_ring_ports(41000);
      peer.add_device_ids(absl::StrCat(4 + slot));
      peer.add_device_addresses("");
    }
    peer.set_chief_port(60000 + node);
  }
  return peers;
}

TEST(Chief, IsTheDeviceOfRankZero) {
  const auto chief = ChiefOf(Peers());
  ASSERT_TRUE(chief.ok()) << chief.status();
  EXPECT_EQ(chief->address, "10.0.0.2");
  EXPECT_EQ(chief->port, 60001u);
  EXPECT_EQ(chief->device_id, "4");
}

TEST(Chief, MayHaveAnIpv6AddressAndAnySlot) {
  v1::PeerList peers = Peers();
  v1::PeerNode& node = *peers.mutable_nodes(1);
  node.set_address(IpAddress::Parse("fd00::2")->bytes());
  for (const uint32_t rank : {1, 0}) node.add_ranks(rank);
  const auto chief = ChiefOf(peers);
  ASSERT_TRUE(chief.ok()) << chief.status();
  EXPECT_EQ(chief->address, "fd00::2");
  EXPECT_EQ(chief->device_id, "5");
}

TEST(Chief, ANodeThatHasNotReportedItIsNamed) {
  v1::PeerList peers = Peers();
  peers.mutable_nodes(1)->set_chief_port(0);
  EXPECT_THAT(std::string(ChiefOf(peers).status().message()), AllOf(HasSubstr("node n1"), HasSubstr("--hccl_mode")));
  peers = Peers();
  peers.mutable_nodes(1)->clear_device_ids();
  EXPECT_THAT(std::string(ChiefOf(peers).status().message()), HasSubstr("node n1"));
  peers.mutable_nodes(1)->set_role(v1::ROLE_SERVER);  // server 0 may not be the chief
  EXPECT_THAT(std::string(ChiefOf(peers).status().message()), HasSubstr("no rank 0"));
}

TEST(Chief, NoDeviceOfAMachineHasTwoRanks) {
  v1::PeerList peers = Peers();
  peers.mutable_nodes(2)->set_machine(0);
  EXPECT_THAT(std::string(ChiefOf(peers).status().message()),
              AllOf(HasSubstr("nodes n0 and n2 share a machine, and both have its device 4"), HasSubstr("--devices")));
  for (int slot = 0; slot < 2; ++slot) peers.mutable_nodes(2)->set_device_ids(slot, absl::StrCat(6 + slot));
  EXPECT_TRUE(ChiefOf(peers).ok());
}

TEST(SameHcclMode, TwoNodesOfDifferentMindsAreNamed) {
  struct Case {
    const char* name;
    const char* mode;  // the node's own mode
    void (*change)(v1::PeerList&);
    const char* expected;  // empty: no error
  };
  const Case cases[] = {
      {"all chief", "chief", [](v1::PeerList&) {}, ""},
      {"one of table, seen by chief", "chief",
       [](v1::PeerList& p) {
         p.mutable_nodes(2)->set_chief_port(0);
         p.mutable_nodes(2)->set_device_addresses(0, "1.1.1.1");
       },
       "node n0 was started with --hccl_mode chief, node n2 was not"},
      {"one of chief, seen by table", "table",
       [](v1::PeerList& p) {
         for (int i = 0; i < 2; ++i) p.mutable_nodes(i)->set_chief_port(0);
       },
       "node n2 was started with --hccl_mode chief, node n0 was not"},
      {"one of none, seen by chief", "chief",
       [](v1::PeerList& p) {
         p.mutable_nodes(0)->set_chief_port(0);
         p.mutable_nodes(0)->clear_device_ids();
       },
       "node n1 was started with --hccl_mode chief, node n0 was not"},
      {"servers have no mode", "chief",
       [](v1::PeerList& p) {
         p.mutable_nodes(0)->set_chief_port(0);
         p.mutable_nodes(0)->set_role(v1::ROLE_SERVER);
       },
       ""},
      {"no ports are told", "chief",
       [](v1::PeerList& p) {
         for (v1::PeerNode& node : *p.mutable_nodes()) node.set_chief_port(0);
       },
       ""},
      {"all table", "table",
       [](v1::PeerList& p) {
         for (v1::PeerNode& node : *p.mutable_nodes()) {
           node.set_chief_port(0);
           node.set_device_addresses(0, "1.1.1.1");
         }
       },
       ""},
      {"one of none, seen by table", "table",
       [](v1::PeerList& p) {
         for (v1::PeerNode& node : *p.mutable_nodes()) {
           node.set_chief_port(0);
           node.set_device_addresses(0, "1.1.1.1");
         }
         p.mutable_nodes(1)->clear_device_ids();
         p.mutable_nodes(1)->clear_device_addresses();
       },
       "node n0 was started with --hccl_mode table, node n1 was not"},
      {"an address that is not known is another error", "table",
       [](v1::PeerList& p) {
         for (v1::PeerNode& node : *p.mutable_nodes()) node.set_chief_port(0);
         p.mutable_nodes(1)->set_device_addresses(0, "1.1.1.1");
       },
       ""},
  };
  for (const Case& c : cases) {
    v1::PeerList peers = Peers();
    c.change(peers);
    const absl::Status status = CheckSameHcclMode(c.mode, peers);
    EXPECT_EQ(status.ok(), std::string(c.expected).empty()) << c.name << ": " << status;
    EXPECT_THAT(std::string(status.message()), HasSubstr(c.expected)) << c.name;
  }
}

TEST(HcclVariables, AreHeldAgainstTheGuide) {
  struct Case {
    const char* name;
    const char* value;
    const char* expected;  // empty: it is valid
  };
  const Case cases[] = {
      {"HCCL_IF_BASE_PORT", "1024", ""},
      {"HCCL_IF_BASE_PORT", "65520", ""},
      {"HCCL_IF_BASE_PORT", "1023", "from 1024 to 65520"},
      {"HCCL_IF_BASE_PORT", "65521", "from 1024 to 65520"},
      {"HCCL_IF_BASE_PORT", "many", "\"many\""},
      {"HCCL_CONNECT_TIMEOUT", "120", ""},
      {"HCCL_CONNECT_TIMEOUT", "119", "120 to 7200 (seconds)"},
      {"HCCL_CONNECT_TIMEOUT", "7201", "120 to 7200 (seconds)"},
      {"HCCL_WHITELIST_DISABLE", "1", ""},
      {"HCCL_WHITELIST_DISABLE", "2", "from 0 to 1"},
      {"HCCL_WHITELIST_DISABLE", "0", "HCCL_WHITELIST_FILE is not set"},
      {"HCCL_IF_IP", "10.0.0.1", ""},
      {"HCCL_IF_IP", "eth0", "numeric address"},
      {"HCCL_SOCKET_FAMILY", "AF_INET6", ""},
      {"HCCL_SOCKET_FAMILY", "inet", "AF_INET or AF_INET6"},
  };
  AgentSettings settings;
  settings.hccl_mode = "chief";
  for (const Case& c : cases) {
    const auto warnings = CheckHcclVariables(settings, {{c.name, c.value}}).warnings;
    const bool is_good = std::string(c.expected).empty();
    ASSERT_EQ(warnings.size(), is_good ? 0u : 1u) << c.name << "=" << c.value;
    if (is_good) continue;
    EXPECT_THAT(warnings[0], AllOf(HasSubstr(c.name), HasSubstr(c.expected)));
  }
  settings.env = {{"HCCL_IF_IP", "10.0.0.1"}};
  EXPECT_THAT(CheckHcclVariables(settings, {{"HCCL_IF_IP", "eth0"}}).warnings, IsEmpty()) << "--env stands above";
  EXPECT_THAT(CheckHcclVariables({}, {{"HCCL_IF_IP", "eth0"}}).warnings, IsEmpty()) << "HCCL is not in use";
}

TEST(HcclVariables, RangesOfPortsThatHcclRefusesAreErrors) {
  struct Case {
    const char* name;
    const char* value;
    bool is_good;
  };
  const Case cases[] = {
      {"HCCL_HOST_SOCKET_PORT_RANGE", "61000-61050", true},
      {"HCCL_HOST_SOCKET_PORT_RANGE", "auto", true},
      {"HCCL_HOST_SOCKET_PORT_RANGE", "61050-61000", false},
      {"HCCL_HOST_SOCKET_PORT_RANGE", "65536", false},
      {"HCCL_NPU_SOCKET_PORT_RANGE", "61000,61010-61020", true},
      {"HCCL_NPU_SOCKET_PORT_RANGE", "0", false},
      {"HCCL_NPU_SOCKET_PORT_RANGE", "many", false},
  };
  for (const Case& c : cases) {
    const std::map<std::string, std::string> variables = {{c.name, c.value}};
    AgentSettings of_env;
    of_env.env = variables;
    for (const auto& findings : {CheckHcclVariables({}, variables), CheckHcclVariables(of_env, {{c.name, "1"}})}) {
      EXPECT_THAT(findings.warnings, IsEmpty()) << c.name << "=" << c.value;
      ASSERT_EQ(findings.errors.size(), c.is_good ? 0u : 1u) << c.name << "=" << c.value;
      if (c.is_good) continue;
      EXPECT_THAT(findings.errors[0], AllOf(HasSubstr(absl::StrCat(c.name, " is \"", c.value, "\"")),
                                            HasSubstr("auto, or ports from 1 to 65535")));
    }
  }
}

TEST(HcclPorts, TheBasePortIsTheGuidesUnlessAGoodOneIsSet) {
  EXPECT_EQ(HcclBasePort({}, {}), 60000u);
  EXPECT_EQ(HcclBasePort({}, {{"HCCL_IF_BASE_PORT", "50000"}}), 50000u);
  EXPECT_EQ(HcclBasePort({}, {{"HCCL_IF_BASE_PORT", "80"}}), 60000u);
}

TEST(HcclPorts, AreReadFromTheVariables) {
  AgentSettings settings;
  settings.env = {{"HCCL_NPU_SOCKET_PORT_RANGE", "auto"}};
  HcclPorts ports = HcclPortsOf(settings, {{"HCCL_HOST_SOCKET_PORT_RANGE", "61000"}, {"HCCL_IF_BASE_PORT", "50000"}});
  EXPECT_EQ(ShowPorts(ports.HostRanges()), "61000");
  EXPECT_EQ(ports.device.choice, PortChoice::kAuto);
  EXPECT_EQ(ports.base_port, 50000u);
  ports = HcclPortsOf(settings, {{"HCCL_HOST_SOCKET_PORT_RANGE", "many"}});
  EXPECT_EQ(ShowPorts(ports.HostRanges()), "60000-60015") << "a bad value is another check's";
}

class HcclPortsTest : public ::testing::Test {
 protected:
  HcclPortsTest() {
    settings_.hccl_mode = "chief";
    roots_.proc = folder_.path();
    SetKernel("1024 1024", "");
  }
  void SetKernel(const std::string& range, const std::string& reserved) {
    folder_.Write("sys/net/ipv4/ip_local_port_range", range + "\n");
    folder_.Write("sys/net/ipv4/ip_local_reserved_ports", reserved + "\n");
  }
  std::vector<std::string> Check(uint32_t base) {
    HcclPorts ports;
    ports.base_port = base;
    return CheckHcclPorts(settings_, roots_, ports);
  }
  std::vector<std::string> CheckRange(const std::string& host) {
    HcclPorts ports;
    ports.host = *ParseSocketPorts(kHcclHostPortsVariable, host);
    return CheckHcclPorts(settings_, roots_, ports);
  }

  TemporaryFolder folder_;
  AgentSettings settings_;
  HostRoots roots_;
};

// Ports that the kernel may give to others are reported, except reserved ones.
TEST_F(HcclPortsTest, PortsThatTheKernelMayGiveAwayAreSaid) {
  constexpr uint32_t kBase = 30000;  // below the range from which Linux chooses ports, so nothing else listens on it
  constexpr uint16_t kOtherPort = 29000;
  settings_.chief_port = kBase;
  SetKernel("32768 60999", "");
  const auto only_range = Check(kBase);
  EXPECT_THAT(only_range, IsEmpty());
  SetKernel("20000\t60999", "");
  EXPECT_THAT(Check(kBase), ElementsAre(AllOf(HasSubstr("30000-30015"), HasSubstr("ip_local_reserved_ports"))));
  SetKernel("20000 60999", "80,30000-30014");
  EXPECT_THAT(Check(kBase), ElementsAre(HasSubstr("30000-30015")));
  SetKernel("20000 60999", "30000-30010,30011-30020");
  EXPECT_THAT(Check(kBase), IsEmpty());
  settings_.chief_port = kOtherPort;
  EXPECT_THAT(Check(kBase), ElementsAre(HasSubstr("the chief's port 29000")));
  SetKernel("garbage", "garbage");
  EXPECT_THAT(Check(kBase), IsEmpty()) << "can't look";
  settings_.hccl_mode.clear();
  SetKernel("20000 60999", "");
  EXPECT_THAT(Check(kBase), IsEmpty()) << "HCCL is not in use";
}

TEST_F(HcclPortsTest, TheHostsRangeIsCheckedInPlaceOfTheBasePort) {
  settings_.hccl_mode = "table";
  SetKernel("20000 60999", "30000-30003");
  EXPECT_THAT(CheckRange("30000-30003"), IsEmpty());
  EXPECT_THAT(CheckRange("30000,30002-30004"),
              ElementsAre(AllOf(HasSubstr("30000,30002-30004 (HCCL_HOST_SOCKET_PORT_RANGE) are not reserved"),
                                HasSubstr("ip_local_reserved_ports=30000,30002-30004"))));
  EXPECT_THAT(CheckRange("auto"), IsEmpty());
  settings_.hccl_mode = "chief";
  settings_.chief_port = 29000;
  EXPECT_THAT(CheckRange("auto"), ElementsAre(HasSubstr("the chief's port 29000")));
}

TEST_F(HcclPortsTest, APortInUseIsNamed) {
  const UniqueFd listener(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof(address);
  ASSERT_EQ(bind(listener.get(), reinterpret_cast<sockaddr*>(&address), size), 0);
  ASSERT_EQ(listen(listener.get(), 1), 0);
  ASSERT_EQ(getsockname(listener.get(), reinterpret_cast<sockaddr*>(&address), &size), 0);
  const uint32_t port = ntohs(address.sin_port);
  settings_.chief_port = static_cast<uint16_t>(port);
  EXPECT_THAT(Check(port), ElementsAre(AllOf(HasSubstr(absl::StrCat(port)), HasSubstr("in use"),
                                             HasSubstr("HCCL_IF_BASE_PORT"), HasSubstr("--chief_port"))));
  EXPECT_THAT(CheckRange(absl::StrCat(port)),
              ElementsAre(AllOf(HasSubstr(absl::StrCat("HCCL's port ", port)),
                                HasSubstr("or set HCCL_HOST_SOCKET_PORT_RANGE and --chief_port"))));
}

}  // namespace
}  // namespace muster::agent
