// Breaks each rule once, on a host that is otherwise healthy.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>

#include "tests/unit/preflight/sample_host.h"

namespace muster::agent {
namespace {

using ::testing::HasSubstr;
using v1::HostFinding;

struct Broken {
  std::string name;
  Server server;
  std::function<void(SampleHost&)> at_host;  // breaks the host's files …
  std::function<void(HostFacts&)> of_facts;  // … or the facts read from them
  std::string check;
  HostFinding::Level level;
  std::string text, remedy;
};

class BrokenHostTest : public ::testing::TestWithParam<Broken> {};

TEST_P(BrokenHostTest, IsNamedWithItsRemedy) {
  const Broken& broken = GetParam();
  SampleHost host(broken.server);
  if (broken.at_host) broken.at_host(host);
  HostFacts facts = host.Read();
  if (broken.of_facts) broken.of_facts(facts);
  bool was_found = false;
  for (const HostFinding& finding : SampleHost::Judge(facts)) {
    if (finding.check() != broken.check) {
      EXPECT_EQ(finding.level(), HostFinding::OK) << finding.ShortDebugString();
      continue;
    }
    was_found = true;
    EXPECT_EQ(finding.level(), broken.level) << finding.ShortDebugString();
    EXPECT_THAT(finding.text(), HasSubstr(broken.text));
    EXPECT_THAT(finding.remedy(), HasSubstr(broken.remedy));
  }
  EXPECT_TRUE(was_found);
}

constexpr auto kWarning = HostFinding::WARNING;
constexpr auto kError = HostFinding::ERROR;
constexpr auto kNotChecked = HostFinding::NOT_CHECKED;

std::string ListenOn(const char* port) {
  return absl::StrCat("  sl  local_address rem_address   st\n   0: 0100007F:", port, " 00000000:0000 0A 00000000\n",
                      "   1: 0100007F:EA61 0100007F:1F90 01 00000000\n");
}

HcclPorts HostRange(const char* value) {
  HcclPorts ports;
  ports.host = *ParseSocketPorts(kHcclHostPortsVariable, value);
  return ports;
}

INSTANTIATE_TEST_SUITE_P(
    OfTheHost, BrokenHostTest,
    ::testing::Values(
        Broken{"Clock", Server::kCpu, nullptr, [](HostFacts& f) { f.wall_unix_ms = 1000; }, "clock", kError,
               "shows a time before 2025", "timedatectl"},
        Broken{"JobPort", Server::kCpu, [](SampleHost& h) { h.Write("proc/net/tcp", ListenOn("733C")); }, nullptr,
               "job_ports", kWarning, "29500: a program listens", "ss -ltnp"},
        Broken{"JobPortOnV6", Server::kCpu,
               [](SampleHost& h) {
                 h.Write("proc/net/tcp6",
                         "head\n 0: 00000000000000000000000000000000:733C "
                         "00000000000000000000000000000000:0000 0A\n");
               },
               nullptr, "job_ports", kWarning, "29500", "ss -ltnp"},
        Broken{"JobPortGivenAway", Server::kCpu, nullptr, [](HostFacts& f) { f.job_ports = {40000}; }, "job_ports",
               kWarning, "40000 is not reserved", "ip_local_reserved_ports=60000-60015,40000"},
        Broken{"HcclPort", Server::kAscend910, [](SampleHost& h) { h.Write("proc/net/tcp", ListenOn("EA63")); },
               nullptr, "hccl_ports", kError, "60003: a program listens", "HCCL_IF_BASE_PORT"},
        Broken{"HcclPortsNotReserved", Server::kA2,
               [](SampleHost& h) { h.Write("proc/sys/net/ipv4/ip_local_reserved_ports", "\n"); }, nullptr, "hccl_ports",
               kWarning, "60000-60015 are not reserved", "sysctl -w net.ipv4.ip_local_reserved_ports=60000-60015"},
        Broken{"HcclRange", Server::kA2, [](SampleHost& h) { h.Write("proc/net/tcp", ListenOn("EE4A")); },
               [](HostFacts& f) { f.hccl_ports = HostRange("61000-61007"); }, "hccl_ports", kError,
               "61002: a program listens", "set HCCL_HOST_SOCKET_PORT_RANGE to others on all nodes, or to auto"},
        Broken{"HcclRangePartlyTaken", Server::kA2, [](SampleHost& h) { h.Write("proc/net/tcp", ListenOn("EE4A")); },
               [](HostFacts& f) { f.hccl_ports = HostRange("61000-61050"); }, "hccl_ports", kWarning,
               "61002: a program listens", "set HCCL_HOST_SOCKET_PORT_RANGE to others on all nodes, or to auto"},
        Broken{"HcclRangeNotReserved", Server::kA3SuperPod, nullptr,
               [](HostFacts& f) { f.hccl_ports = HostRange("50000,50010-50020"); }, "hccl_ports", kWarning,
               "50000,50010-50020 are not reserved", "ip_local_reserved_ports=60000-60015,50000,50010-50020"},
        Broken{"HcclRangeTooSmall", Server::kA2, nullptr,
               [](HostFacts& f) { f.hccl_ports = HostRange("61000-61005,61010"); }, "hccl_ports", kWarning,
               "HCCL_HOST_SOCKET_PORT_RANGE has 7 ports, but each of the node's 8 processes",
               "set HCCL_HOST_SOCKET_PORT_RANGE to 8 ports or more, or to auto"},
        Broken{"HcclRangePerProcess", Server::kA2, nullptr,
               [](HostFacts& f) { f.hccl_ports->host.choice = PortChoice::kPerProcess; }, "hccl_ports", kNotChecked,
               "HCCL_HOST_SOCKET_PORT_RANGE (--env) has a placeholder", ""},
        Broken{"Somaxconn", Server::kCpu, [](SampleHost& h) { h.Write("proc/sys/net/core/somaxconn", "128\n"); },
               [](HostFacts& f) { f.job_processes = 1024; }, "backlog", kWarning, "net.core.somaxconn is 128",
               "sysctl -w net.core.somaxconn=65535"},
        Broken{"SynBacklog", Server::kCpu, nullptr,
               [](HostFacts& f) {
                 f.somaxconn = 65535;
                 f.job_processes = 8000;
               },
               "backlog", kWarning, "net.ipv4.tcp_max_syn_backlog is 4096", "net.ipv4.tcp_max_syn_backlog=65535"},
        Broken{"Mtu", Server::kCpu, [](SampleHost& h) { h.Write("sys/class/net/eth0/mtu", "1280\n"); }, nullptr, "mtu",
               kWarning, "MTU of eth0 is 1280", "ip link set eth0 mtu 1500"},
        Broken{"LittleSpace", Server::kCpu, nullptr, [](HostFacts& f) { f.spaces[0].free_bytes = 500 << 20; }, "space",
               kWarning, "the log folder /logs has 500 MiB free", "du -xsh /logs"},
        Broken{"NoSpace", Server::kCpu, nullptr, [](HostFacts& f) { f.spaces[0].free_bytes = 1 << 20; }, "space",
               kError, "1 MiB free", "make room"},
        Broken{"SharedMemory", Server::kNvidia, nullptr, [](HostFacts& f) { f.shared_memory->total_bytes = 64 << 20; },
               "shared_memory", kWarning, "/dev/shm has 64 MiB", "--shm-size"},
        Broken{"LittleMemory", Server::kCpu, [](SampleHost& h) { h.Write("sys/fs/cgroup/memory.max", "536870912\n"); },
               nullptr, "memory", kWarning, "512 MiB are free for 2 processes", "--memory"},
        Broken{"NoMemory", Server::kCpu, [](SampleHost& h) { h.Write("proc/meminfo", "MemAvailable: 10000 kB\n"); },
               nullptr, "memory", kError, "9 MiB are free", "ps aux"},
        Broken{"OpenFiles", Server::kCpu, nullptr, [](HostFacts& f) { f.open_files = 1024; }, "open_files", kWarning,
               "(ulimit -Hn) is 1024", "limits.conf"},
        Broken{"Processes", Server::kCpu, nullptr, [](HostFacts& f) { f.tasks = 100; }, "processes", kWarning,
               "(ulimit -Hu) is 100, but should be 512", "--ulimit"},
        Broken{"LockedMemory", Server::kNvidia,
               [](SampleHost& h) { h.Write("sys/class/infiniband/mlx5_0/node_guid", "1\n"); },
               [](HostFacts& f) { f.locked_memory = 65536; }, "locked_memory", kWarning, "should be unlimited",
               "limits.conf"}),
    [](const auto& tested) { return tested.param.name; });

INSTANTIATE_TEST_SUITE_P(
    OfItsDevices, BrokenHostTest,
    ::testing::Values(
        Broken{"DeviceFiles", Server::kA2, [](SampleHost& h) { h.Remove("dev/hisi_hdc"); }, nullptr, "device_files",
               kError, "there is no /dev/hisi_hdc", "--device=/dev/hisi_hdc"},
        Broken{"DeviceCount", Server::kAscend910, nullptr,
               [](HostFacts& f) {
                 f.devices = {0, 1, 2};
               },
               "device_group", kError, "3 devices take part", "--devices"},
        Broken{"CrossingGroups", Server::kAscend910, nullptr,
               [](HostFacts& f) {
                 f.devices = {3, 4};
               },
               "device_group", kError, "devices 3, 4 take part, but they should all be of 0-3 or all of 4-7",
               "--devices 0-1"},
        Broken{"NoAddress", Server::kA2, [](SampleHost& h) { h.Say(5, "-ip", "netmask:\n"); }, nullptr,
               "device_addresses", kError, "device 5 has no network address", "hccn_tool -i 5 -ip -s address"},
        Broken{"SameAddress", Server::kA2,
               [](SampleHost& h) { h.Say(5, "-ip", "ipaddr:10.0.0.11\nnetmask:255.255.0.0\n"); }, nullptr, "duplicates",
               kError, "devices 0 and 5 both have the address 10.0.0.11", "hccn_tool -i 5 -ip"},
        Broken{"PairApart", Server::kAscend910, nullptr,
               [](HostFacts& f) { f.device_facts[4].address = "192.168.9.9"; }, "segments", kError,
               "devices 0 (192.168.100.0/255.255.255.0) and 4 (192.168.9.0/255.255.255.0) are in two network segments",
               "hccn_tool -i N -ip -s"},
        Broken{"NeighboursTogether", Server::kAscend910Half, nullptr,
               [](HostFacts& f) { f.device_facts[5].address = "192.168.100.9"; }, "segments", kError,
               "are in one network segment", "hccn_tool -i N -ip -s"},
        Broken{"SegmentsOfUnknownKind", Server::kAscend910, [](SampleHost& h) { h.Remove("sys/bus"); },
               [](HostFacts& f) { f.device_facts[4].address = "192.168.9.9"; }, "segments", kWarning,
               "or all be in one, on A2 and A3", "hccn_tool"},
        Broken{"SegmentsOfA2", Server::kA2, nullptr, [](HostFacts& f) { f.device_facts[4].address = "10.1.0.9"; },
               "segments", kWarning, "all should be in one", "hccn_tool"},
        Broken{"Tls", Server::kA3SuperPod,
               [](SampleHost& h) { h.Say(2, "-tls", "dev_id:2, tls switch[1](0:disable, 1:enable)\n"); }, nullptr,
               "device_tls", kError, "TLS is on for device 2 and off for devices 0, 1, 3",
               "hccn_tool -i 2 -tls -s enable 0"},
        Broken{"Fault", Server::kAscend910,
               [](SampleHost& h) { h.Say(3, "-net_health", "net health status: Fault\n"); }, nullptr, "device_health",
               kError, "device 3 says Fault", "hccn_tool -i 3 -net_health -g"},
        Broken{"StillInit", Server::kAscend910,
               [](SampleHost& h) { h.Say(3, "-net_health", "net health status: Init\n"); }, nullptr, "device_health",
               kWarning, "device 3 says Init", "-netdetect"},
        Broken{"NoSwitch", Server::kAscend910, [](SampleHost& h) { h.Say(7, "-lldp", "\n"); }, nullptr, "switch",
               kWarning, "device 7 sees no neighbour", "hccn_tool -i 7 -lldp -g"}),
    [](const auto& tested) { return tested.param.name; });

// A fact that can't be read is neither right nor wrong.
INSTANTIATE_TEST_SUITE_P(
    CannotBeRead, BrokenHostTest,
    ::testing::Values(Broken{"Sockets", Server::kCpu, [](SampleHost& h) { h.Remove("proc/net"); }, nullptr, "job_ports",
                             kNotChecked, "/proc/net/tcp can't be read", ""},
                      Broken{"Reserved", Server::kAscend910,
                             [](SampleHost& h) { h.Write("proc/sys/net/ipv4/ip_local_reserved_ports", "many\n"); },
                             [](HostFacts& f) { f.job_ports.clear(); }, "hccl_ports", kNotChecked,
                             "ip_local_reserved_ports", ""},
                      Broken{"Backlog", Server::kCpu, [](SampleHost& h) { h.Remove("proc/sys/net/core"); }, nullptr,
                             "backlog", kNotChecked, "net.core.somaxconn", ""},
                      Broken{"NoInterface", Server::kCpu, [](SampleHost& h) { h.Remove("sys/class"); }, nullptr, "mtu",
                             kNotChecked, "the MTU of eth0", ""},
                      Broken{"Meminfo", Server::kCpu, [](SampleHost& h) { h.Remove("proc/meminfo"); }, nullptr,
                             "memory", kNotChecked, "/proc/meminfo", ""},
                      Broken{"Driver", Server::kA2, [](SampleHost& h) { h.Remove("driver"); }, nullptr, "driver",
                             kNotChecked, "driver's version", ""},
                      Broken{"NvidiaDriver", Server::kNvidia,
                             [](SampleHost& h) { h.Write("proc/driver/nvidia/version", "\x01\n"); }, nullptr, "driver",
                             kNotChecked, "driver's version", ""}),
    [](const auto& tested) { return tested.param.name; });

TEST(HostRulesTest, OneServerAloneNeedsNoNetwork) {
  SampleHost host(Server::kAscend910);
  host.Remove("etc");
  host.Remove("bin");
  HostFacts facts = host.Read();
  facts.job_processes = facts.processes;
  for (const HostFinding& finding : SampleHost::Judge(facts)) {
    EXPECT_EQ(finding.level(), HostFinding::OK) << finding.ShortDebugString();
  }
}

// Returns the text of the check's finding, which must be OK; empty: there is none.
std::string TextOf(const HostFacts& facts, const std::string& check) {
  for (const HostFinding& finding : SampleHost::Judge(facts)) {
    if (finding.check() != check) continue;
    EXPECT_EQ(finding.level(), HostFinding::OK) << finding.ShortDebugString();
    return finding.text();
  }
  return "";
}

TEST(HostRulesTest, HcclsRangesThatAreFine) {
  struct Case {
    Server server;
    const char* host;
    const char* device;
    const char* host_text;
    const char* device_text;
  };
  const Case cases[] = {
      {Server::kA2, "", "", "60000-60015 free and reserved", ""},
      {Server::kA2, "61000-61050", "", "61000-61050 free and reserved", ""},
      {Server::kA2, "auto", "", "the system chooses them (HCCL_HOST_SOCKET_PORT_RANGE=auto)", ""},
      {Server::kA3SuperPod, "", "61000-61050", "60000-60015 free and reserved", "61000-61050"},
      {Server::kA3SuperPod, "", "auto", "60000-60015 free and reserved", "auto"},
      {Server::kA2, "", "61000", "60000-60015 free and reserved",
       "61000; HCCL on A2 does not allow HCCL_NPU_SOCKET_PORT_RANGE with MC2 operators, such as AllGatherMatmul"},
  };
  for (const Case& c : cases) {
    HostFacts facts = SampleHost(c.server).Read();
    facts.hccl_ports->host = *ParseSocketPorts(kHcclHostPortsVariable, c.host);
    facts.hccl_ports->device = *ParseSocketPorts(kHcclDevicePortsVariable, c.device);
    EXPECT_EQ(TextOf(facts, "hccl_ports"), c.host_text) << c.host;
    EXPECT_EQ(TextOf(facts, "npu_ports"), c.device_text) << c.device;
  }
}

TEST(HostRulesTest, TheBasePortServesAnyNumberOfProcesses) {
  HostFacts facts = SampleHost(Server::kA2).Read();
  facts.processes = 17;
  EXPECT_EQ(TextOf(facts, "hccl_ports"), "60000-60015 free and reserved");
}

TEST(HostRulesTest, TextsAreBoundedAndOneLine) {
  const HostFinding finding = MakeFinding("x", HostFinding::OK, std::string(2000, 'a') + "\n", "a\nb");
  EXPECT_LE(finding.text().size(), 512u);
  EXPECT_EQ(finding.remedy(), "a\\nb");
}

}  // namespace
}  // namespace muster::agent
