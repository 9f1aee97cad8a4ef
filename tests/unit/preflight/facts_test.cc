#include <gtest/gtest.h>

#include "common/hosts/compare.h"
#include "common/hosts/segment.h"
#include "tests/unit/preflight/sample_host.h"
#include "worker_agent/preflight/preflight.h"

namespace muster::agent {
namespace {

using v1::HostFinding;

class HealthyHostTest : public ::testing::TestWithParam<Server> {};

TEST_P(HealthyHostTest, HasNothingToSay) {
  const SampleHost host(GetParam());
  const HostFacts facts = host.Read();
  const std::vector<HostFinding> findings = SampleHost::Judge(facts);
  for (const HostFinding& finding : findings) {
    EXPECT_EQ(finding.level(), HostFinding::OK) << finding.ShortDebugString();
  }
  const bool has_device_checks = std::any_of(findings.begin(), findings.end(),
                                             [](const HostFinding& f) { return f.check().starts_with("device_"); });
  EXPECT_EQ(has_device_checks, IsAscend(GetParam())) << "only what applies to the hardware found";
}

INSTANTIATE_TEST_SUITE_P(OfEachKind, HealthyHostTest,
                         ::testing::Values(Server::kAscend910, Server::kAscend910Half, Server::kA2, Server::kA3SuperPod,
                                           Server::kNvidia, Server::kCpu));

TEST(HostFactsTest, DevicesAreReadFromTheFileAndTheTool) {
  const HostFacts first = SampleHost(Server::kAscend910).Read();
  EXPECT_EQ(first.ascend, AscendKind::kFirst);
  EXPECT_EQ(first.driver, "23.0.3");
  EXPECT_EQ(first.device_facts.at(5).address, "192.168.101.106");
  EXPECT_EQ(first.device_facts.at(5).netmask, "255.255.255.0");
  EXPECT_EQ(first.device_facts.at(5).has_tls, false);
  EXPECT_EQ(first.device_facts.at(5).health, "Success");
  EXPECT_EQ(first.device_facts.at(5).has_neighbour, true);
  const HostFacts second = SampleHost(Server::kA2).Read();
  EXPECT_EQ(second.ascend, AscendKind::kA2);
  EXPECT_EQ(second.device_facts.at(5).address, "10.0.0.16");
  EXPECT_EQ(second.device_facts.at(5).netmask, "255.255.0.0");
  EXPECT_EQ(SampleHost(Server::kNvidia).Read().driver, "535.104.05");
}

TEST(HostFactsTest, AnEmptyHostIsUnknownInEverything) {
  FactsRequest request;
  const TemporaryFolder folder;
  const std::string none = folder.path() + "/none";
  request.search.roots = {none, none, none, none, none, none};
  HostFacts facts;
  facts.device_kind = "Ascend";
  facts.devices = {0};
  facts.hccl_ports = HcclPorts{};
  ReadHost(request, facts);
  ReadDevices(request, facts);
  EXPECT_FALSE(facts.listening || facts.reserved || facts.somaxconn || facts.free_memory || facts.shared_memory);
  EXPECT_EQ(facts.device_facts.at(0).address, std::nullopt);
  for (const HostFinding& finding : SampleHost::Judge(facts)) {
    if (finding.check() == "device_files") continue;  // their absence is visible
    EXPECT_LE(finding.level(), HostFinding::WARNING) << finding.ShortDebugString();
  }
}

TEST(CheckHostTest, TheKindsOfHcclsPortsAreReportedForTheComparison) {
  struct Case {
    const char* variable;
    const char* value;
    const char* host;
    const char* device;
  };
  const Case cases[] = {
      {kHcclBasePortVariable, "50000", kPortsNotSet, kPortsNotSet},
      {kHcclHostPortsVariable, "auto", "auto", kPortsNotSet},
      {kHcclHostPortsVariable, "61000-61050", "a range", kPortsNotSet},
      {kHcclDevicePortsVariable, "auto", kPortsNotSet, "auto"},
      {kHcclDevicePortsVariable, "61000", kPortsNotSet, "a range"},
      {kHcclDevicePortsVariable, "6{local_rank}000", kPortsNotSet, "a range"},
  };
  const TemporaryFolder folder;
  const std::string none = folder.path() + "/none";
  NodeDevices devices;
  devices.roots = {none, none, none, none, none, none};
  AgentSettings settings;
  settings.preflight = "host";
  for (const Case& c : cases) {
    settings.env = {{c.variable, c.value}};
    for (const char* mode : {"chief", "table", ""}) {
      settings.hccl_mode = mode;
      v1::NodeInfo node;
      node.add_slots();
      CheckHost(settings, {}, devices, "", node).IgnoreError();  // whether this machine is fit is not the question
      const bool has_hccl = settings.hccl_mode == "chief";       // a rank table has ports of its own
      EXPECT_EQ(FactOf(node, kFactHostPorts), has_hccl ? c.host : "") << c.variable << "=" << c.value;
      EXPECT_EQ(FactOf(node, kFactDevicePorts), has_hccl ? c.device : "") << c.variable << "=" << c.value;
    }
  }
}

TEST(SegmentTest, IsTheMaskedAddress) {
  EXPECT_EQ(SegmentOf("192.168.100.101", "255.255.255.0"), "192.168.100.0/255.255.255.0");
  EXPECT_EQ(SegmentOf("192.168.100.101", ""), "");
  EXPECT_EQ(SegmentOf("10.1.2.3", "255.255.0.0"), "10.1.0.0/255.255.0.0");
  EXPECT_EQ(SegmentOf("fd00::1", "ffff:ffff:ffff:ffff::"), "fd00::/ffff:ffff:ffff:ffff::");
  EXPECT_EQ(SegmentOf("fd00::1", "255.255.0.0"), "");
  EXPECT_EQ(SegmentOf("none", "255.255.0.0"), "");
}

}  // namespace
}  // namespace muster::agent
