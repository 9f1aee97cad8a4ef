#include "common/hosts/compare.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <list>
#include <map>

#include "absl/strings/str_cat.h"

namespace muster {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using v1::HostFinding;

class CompareHostsTest : public ::testing::Test {
 protected:
  // Three equal hosts: Ascend 910, two devices each.
  CompareHostsTest() {
    for (int i = 0; i < 3; ++i) {
      Add(absl::StrCat("n", i), {{kFactKind, "Ascend 910"},
                                 {kFactDevices, "2"},
                                 {kFactDriver, "23.0.3"},
                                 {kFactNic, "eth0"},
                                 {kFactMtu, "1500"},
                                 {kFactTls, "off"},
                                 {kFactAddresses, absl::StrCat("0=192.168.100.", i, ",1=192.168.101.", i)},
                                 {kFactSegments, "0=192.168.100.0/255.255.255.0,1=192.168.101.0/255.255.255.0"},
                                 {kFactHostPorts, "a range"},
                                 {kFactDevicePorts, "a range"},
                                 {kFactClock, absl::StrCat(100 * i)}});
    }
  }

  void Add(const std::string& id, const std::map<std::string, std::string>& facts) {
    v1::NodeInfo& info = infos_.emplace_back();
    info.set_machine_id(id);
    hosts_.push_back({id, &info});
    for (const auto& [name, value] : facts) Set(hosts_.size() - 1, name, value);
  }

  void Set(size_t host, const std::string& name, const std::string& value) {
    v1::NodeInfo& info = *std::next(infos_.begin(), static_cast<ptrdiff_t>(host));
    for (v1::HostFact& fact : *info.mutable_host_facts()) {
      if (fact.name() == name) return fact.set_value(value);
    }
    v1::HostFact& fact = *info.add_host_facts();
    fact.set_name(name);
    fact.set_value(value);
  }

  v1::NodeInfo& info(size_t host) { return *std::next(infos_.begin(), static_cast<ptrdiff_t>(host)); }

  // Returns the only difference that is not OK.
  HostDifference Only() const {
    HostDifference only;
    for (const HostDifference& difference : CompareHosts(hosts_)) {
      if (difference.finding.level() == HostFinding::OK) continue;
      EXPECT_EQ(only.finding.check(), "") << difference.finding.ShortDebugString();
      only = difference;
    }
    return only;
  }

  std::list<v1::NodeInfo> infos_;
  std::vector<ComparedHost> hosts_;
};

TEST_F(CompareHostsTest, LikeHostsAreFine) {
  EXPECT_EQ(Only().finding.check(), "");
  EXPECT_EQ(CompareHosts(hosts_).size(), 12u);
}

TEST_F(CompareHostsTest, EachDifferenceIsNamedWithTheOddNode) {
  struct Case {
    const char* fact;
    const char* value;
    const char* check;
    HostFinding::Level level;
    const char* text;
  };
  const Case cases[] = {
      {kFactKind, "Ascend A2", "same_kind", HostFinding::WARNING, "Ascend A2 on n1, but Ascend 910 on n0, n2"},
      {kFactDriver, "24.1", "same_driver", HostFinding::WARNING, "is 24.1 on n1, but 23.0.3 on n0, n2"},
      {kFactMtu, "9000", "same_mtu", HostFinding::WARNING, "the MTU is 9000 on n1"},
      {kFactNic, "enp1s0", "same_nic", HostFinding::WARNING, "enp1s0 on n1"},
      {kFactTls, "on", "same_tls", HostFinding::ERROR, "TLS switch is on on n1"},
      {kFactDevices, "4", "same_devices", HostFinding::WARNING, "the number of devices is 4 on n1"},
      {kFactAddresses, "3=192.168.100.0", "unique_addresses", HostFinding::ERROR,
       "device 3 of node n1 and device 0 of node n0 both have the address 192.168.100.0"},
      {kFactSegments, "1=10.0.0.0/255.0.0.0", "same_segments", HostFinding::ERROR,
       "the network segment of device 1 is 10.0.0.0/255.0.0.0 on n1"},
      {kFactHostPorts, kPortsNotSet, "same_host_ports", HostFinding::WARNING,
       "HCCL_HOST_SOCKET_PORT_RANGE is not set on n1, but a range on n0, n2"},
      {kFactHostPorts, "auto", "same_host_ports", HostFinding::WARNING, "is auto on n1, but a range on n0, n2"},
      {kFactDevicePorts, kPortsNotSet, "same_npu_ports", HostFinding::ERROR,
       "HCCL_NPU_SOCKET_PORT_RANGE is not set on n1, but a range on n0, n2"},
      {kFactDevicePorts, "auto", "same_npu_ports", HostFinding::WARNING, "is auto on n1, but a range on n0, n2"},
      {kFactClock, "-31000", "clocks", HostFinding::WARNING, "over 30 s away from the other nodes' clocks on n1"},
  };
  for (const Case& one : cases) {
    const std::string was = FactOf(info(1), one.fact);
    Set(1, one.fact, one.value);
    const HostDifference found = Only();
    EXPECT_EQ(found.finding.check(), one.check);
    EXPECT_EQ(found.finding.level(), one.level) << one.check;
    EXPECT_THAT(found.finding.text(), HasSubstr(one.text));
    EXPECT_NE(found.finding.remedy(), "") << one.check;
    EXPECT_THAT(found.node_ids, ElementsAre("n1")) << one.check;
    Set(1, one.fact, was);
  }
}

TEST_F(CompareHostsTest, AllWithSomebodyElsesAddressAreNamedAtOnce) {
  for (const int host : {1, 2}) Set(host, kFactAddresses, FactOf(info(0), kFactAddresses));
  EXPECT_THAT(Only().node_ids, ElementsAre("n1", "n2"));
}

TEST_F(CompareHostsTest, AgentsOfOneMachineShareItsDevices) {
  info(1).set_machine_id("n0");
  Set(1, kFactAddresses, FactOf(info(0), kFactAddresses));
  Set(2, kFactDevices, "4");
  EXPECT_EQ(Only().finding.check(), "") << "2 and 2 there, 4 here";
}

TEST_F(CompareHostsTest, TooManyServers) {
  for (int i = 3; i < 513; ++i) Add(absl::StrCat("n", i), {{kFactKind, "Ascend 910"}});
  EXPECT_THAT(Only().finding.text(), HasSubstr("513 servers take part, but at most 512 may"));
}

TEST_F(CompareHostsTest, ASlowNodeIsNamed) {
  const auto set_scores = [this](const std::vector<std::string>& scores) {
    for (size_t i = 0; i < scores.size(); ++i) Set(i, kFactScore, scores[i]);
  };
  set_scores({"5.1", "5.2", "10.1"});
  EXPECT_EQ(Only().finding.check(), "") << "less than twice the median";
  set_scores({"5.1", "5.2", "10.5"});
  EXPECT_EQ(Only().finding.check(), kScoreCheck);
  EXPECT_EQ(Only().finding.level(), HostFinding::WARNING);
  EXPECT_THAT(Only().finding.text(), HasSubstr("node n2 is slow: its score is 10.5, and the median of all "
                                               "nodes is 5.2"));
  EXPECT_THAT(Only().node_ids, ElementsAre("n2"));
  Set(2, kFactStragglerRatio, "3");
  EXPECT_EQ(Only().finding.check(), "") << "by its own ratio";
  set_scores({"1", "2.5", "2.5"});
  EXPECT_EQ(Only().finding.check(), "") << "one fast node makes the others no stragglers";
}

TEST_F(CompareHostsTest, StrangeScoresDoNoHarm) {
  for (const char* strange : {"", "nan", "inf", "-1", "0", "1e999", "fast", "5.1 s"}) {
    Set(0, kFactScore, "5.1");
    Set(1, kFactScore, "5.2");
    Set(2, kFactScore, strange);
    EXPECT_EQ(Only().finding.check(), "") << strange;
  }
  Set(2, kFactScore, "50");
  Set(2, kFactStragglerRatio, "nan");
  EXPECT_EQ(Only().finding.check(), kScoreCheck) << "the usual ratio counts";
}

TEST_F(CompareHostsTest, HostsWithoutFactsDontCount) {
  for (v1::NodeInfo& info : infos_) info.clear_host_facts();
  Set(0, kFactMtu, "1500");
  EXPECT_THAT(CompareHosts(hosts_), IsEmpty());
}

TEST_F(CompareHostsTest, OneNodeThatSetsItsDevicesPortsIsTheOddOne) {
  for (const int host : {0, 2}) Set(host, kFactDevicePorts, kPortsNotSet);
  const HostDifference found = Only();
  EXPECT_EQ(found.finding.level(), HostFinding::ERROR);
  EXPECT_THAT(found.finding.text(), HasSubstr("is a range on n1, but not set on n0, n2"));
  EXPECT_THAT(found.finding.remedy(), HasSubstr("on all nodes set it to a range, or to auto, or leave it out"));
  EXPECT_THAT(found.node_ids, ElementsAre("n1"));
}

TEST_F(CompareHostsTest, AnAgentThatDoesNotReportItsPortsIsNotCompared) {
  for (const int host : {0, 2}) Set(host, kFactDevicePorts, "");
  EXPECT_EQ(Only().finding.check(), "");
}

TEST_F(CompareHostsTest, StrangeFactsDoNoHarm) {
  Set(1, kFactAddresses, ",,=,5,=1=2");
  Set(1, kFactSegments, "9");
  Set(1, kFactClock, "99999999999999999999");
  Set(1, kFactDevices, "-1");
  EXPECT_EQ(Only().finding.check(), "");
}

TEST_F(CompareHostsTest, TextsAreCutBetweenCharacters) {
  for (const size_t bytes : {1u, 2u}) {
    std::string driver(bytes, 'x');
    for (int i = 0; i < 400; ++i) driver += "ö";
    Set(1, kFactDriver, driver);
    const std::string text = Only().finding.text();
    EXPECT_LE(text.size(), kMaxHostText);
    EXPECT_EQ(text.substr(text.size() - 2), "ö") << "the message would not be text";
  }
}

TEST(IsFatalTest, ByTheNodesOwnWord) {
  HostFinding finding;
  finding.set_level(HostFinding::WARNING);
  EXPECT_TRUE(IsFatal(finding, "warning"));
  EXPECT_FALSE(IsFatal(finding, "error"));
  EXPECT_FALSE(IsFatal(finding, ""));
  finding.set_level(HostFinding::ERROR);
  EXPECT_TRUE(IsFatal(finding, ""));
  finding.set_level(HostFinding::NOT_CHECKED);
  EXPECT_FALSE(IsFatal(finding, "warning"));
}

}  // namespace
}  // namespace muster
