#include "worker_agent/ascend/device_addresses.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include "absl/strings/str_cat.h"
#include "tests/unit/launch/temporary_folder.h"

namespace muster::agent {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::Pair;
using ::testing::SizeIs;

TEST(HccnConf, TellsTheAddressesOfDevices) {
  EXPECT_THAT(ParseHccnConf("address_0=192.168.100.101\nnetmask_0=255.255.255.0\naddress_1=192.168.101.101\n"
                            "netdetect_0=192.168.100.1\nsend_arp_status_0=1\naddress_12=fd00::12"),
              ElementsAre(Pair(0, "192.168.100.101"), Pair(1, "192.168.101.101"), Pair(12, "fd00::12")));
}

TEST(HccnConf, WhatIsNoAddressLineIsPassedOver) {
  struct Case {
    const char* name;
    std::string text;
  };
  const Case cases[] = {
      {"empty", ""},
      {"blank lines", "\n\n \r\n"},
      {"no value", "address_0=\naddress_1"},
      {"no number", "address_=1.2.3.4\naddress_x=1.2.3.4\naddress_-1=1.2.3.4\naddress_1x=1.2.3.4"},
      {"a device that can't be", "address_65536=1.2.3.4\naddress_99999999999999999999=1.2.3.4"},
      {"no address", "address_0=1.2.3\naddress_1=host\naddress_2=1.2.3.4.5\naddress_3=1.2.3.4/24\naddress_4=0.0.0.0"},
      {"a comment", "#address_0=1.2.3.4"},
      {"another word", "IPv6address_0=fd00::1\ngateway_0=1.2.3.4"},
      {"bytes", std::string("\0\xff\xfe"
                            "address_0=1.2.3.4\0",
                            20)},
  };
  for (const Case& c : cases) EXPECT_THAT(ParseHccnConf(c.text), IsEmpty()) << c.name;
}

TEST(HccnConf, SpacesLineEndsAndRepetitionsAreNoHindrance) {
  EXPECT_THAT(ParseHccnConf("  address_0 = 10.0.0.1 \r\naddress_1=10.0.0.2\r\naddress_01=10.0.0.3\naddress_0=host"),
              ElementsAre(Pair(0, "10.0.0.1"), Pair(1, "10.0.0.3")));
}

TEST(HccnConf, AHugeTextIsReadInItsOwnTime) {
  std::string text;
  for (int line = 0; line < 100'000; ++line) absl::StrAppend(&text, "address_", line, "=10.0.0.1\n");
  EXPECT_THAT(ParseHccnConf(text), SizeIs(65'536));
  EXPECT_THAT(ParseHccnConf(std::string(4 << 20, 'a')), IsEmpty());
}

TEST(HccnTool, TellsTheAddressBehindItsName) {
  EXPECT_EQ(ParseHccnTool("ipaddr:192.168.100.101\nnetmask:255.255.255.0\n"), "192.168.100.101");
  EXPECT_EQ(ParseHccnTool("some notice\r\n  ipaddr: 192.168.100.101 \r\nnetmask:255.255.255.0\r\n"), "192.168.100.101");
  EXPECT_EQ(ParseHccnTool("ipaddr:FD00:0::1"), "fd00::1");
  for (const char* text : {"", "\n", "netmask:255.255.255.0", "ipaddr:", "ipaddr:none", "ipaddr:0.0.0.0",
                           "Command execute failed!", "the ipaddr:1.2.3.4", "ipaddr"}) {
    EXPECT_EQ(ParseHccnTool(text), "") << text;
  }
}

// A host with the test's own files and hccn_tool.
class AddDevicesTest : public ::testing::Test {
 protected:
  AddDevicesTest() {
    settings_.hccl_mode = "table";
    search_.roots.etc = folder_.path() + "/etc";
    search_.roots.tools = folder_.path() + "/bin";
    search_.search_path = "/usr/bin:/bin";
    for (int slot = 0; slot < 2; ++slot) node_.add_slots();
  }

  void WriteConf(const std::string& text) { folder_.Write("etc/hccn.conf", text); }
  std::string WriteTool(const std::string& script) {
    const std::string path = folder_.Write("bin/hccn_tool", "#!/bin/sh\n" + script);
    chmod(path.c_str(), 0755);
    return path;
  }
  // The slots' devices and addresses, as in "0=10.0.0.1 1=".
  std::string Add() {
    warnings_.clear();
    const absl::Status status = AddDevices(settings_, search_, node_, warnings_);
    if (!status.ok()) return std::string(status.message());
    std::string all;
    for (const v1::SlotOffer& slot : node_.slots()) {
      absl::StrAppend(&all, all.empty() ? "" : " ", slot.device_id(), "=", slot.device_address());
    }
    return all;
  }
  std::string Warning() const { return warnings_.empty() ? "" : warnings_[0]; }

  TemporaryFolder folder_;
  AgentSettings settings_;
  DeviceSearch search_;
  v1::NodeInfo node_;
  std::vector<std::string> warnings_;
};

constexpr char kGoodTool[] =
    "test \"$1 $3 $4\" = '-i -ip -g' || exit 9\n"
    "echo ipaddr:10.0.0.$2; echo netmask:255.255.255.0";

TEST_F(AddDevicesTest, TheFileComesBeforeTheTool) {
  WriteConf("address_0=192.168.0.1\n");
  WriteTool(kGoodTool);
  EXPECT_EQ(Add(), "0=192.168.0.1 1=10.0.0.1");
  EXPECT_THAT(warnings_, IsEmpty());
}

TEST_F(AddDevicesTest, TheToolAloneIsEnoughAndKnowsTheSlotsOwnDevices) {
  WriteTool(kGoodTool);
  node_.mutable_slots(0)->set_device_id("7");
  node_.mutable_slots(1)->set_device_id("4");
  EXPECT_EQ(Add(), "7=10.0.0.7 4=10.0.0.4");
  EXPECT_THAT(warnings_, IsEmpty());
}

TEST_F(AddDevicesTest, GivenAddressesStandAboveBoth) {
  WriteConf("address_0=192.168.0.1\n");
  WriteTool(kGoodTool);
  settings_.device_ips = "4=1.1.1.1,5=1.1.1.2";
  EXPECT_EQ(Add(), "4=1.1.1.1 5=1.1.1.2");
  settings_.device_ips = "1.1.1.1";
  EXPECT_THAT(Add(), AllOf(HasSubstr("--device_ips has 1 items"), HasSubstr("runs 2")));
}

TEST_F(AddDevicesTest, NothingFoundIsSaidWithEveryReason) {
  EXPECT_EQ(Add(), "0= 1=");
  EXPECT_THAT(Warning(), AllOf(HasSubstr("devices 0, 1 are not known"), HasSubstr("there is no " + search_.roots.etc),
                               HasSubstr("hccn_tool is not installed"), HasSubstr("--device_ips")));
}

TEST_F(AddDevicesTest, ChiefModeDoesNotAskTheToolForAddresses) {
  WriteTool("touch " + folder_.path() + "/asked");
  settings_.hccl_mode = "chief";
  EXPECT_EQ(Add(), "0= 1=");
  EXPECT_THAT(warnings_, IsEmpty());
  EXPECT_NE(access((folder_.path() + "/asked").c_str(), F_OK), 0);
}

TEST_F(AddDevicesTest, AFileOfAnotherKindOrSizeIsNotRead) {
  WriteConf(std::string(256 * 1024 + 1, ' '));
  EXPECT_EQ(Add(), "0= 1=");
  EXPECT_THAT(Warning(), HasSubstr("larger"));
  unlink((search_.roots.etc + "/hccn.conf").c_str());
  ASSERT_EQ(mkfifo((search_.roots.etc + "/hccn.conf").c_str(), 0600), 0);
  EXPECT_EQ(Add(), "0= 1=");
  EXPECT_THAT(Warning(), HasSubstr("hccn.conf"));
}

TEST_F(AddDevicesTest, WhatTheToolSaysInsteadIsQuotedAndCut) {
  WriteTool("echo 'hccn_tool: no such device' >&2; exit 3");
  EXPECT_EQ(Add(), "0= 1=");
  EXPECT_THAT(Warning(), HasSubstr("hccn_tool -i 0 -ip -g says \"hccn_tool: no such device"));
  WriteTool("printf 'ga\\033[1mrb\\377age\\n'; echo netmask:255.0.0.0");
  EXPECT_EQ(Add(), "0= 1=");
  EXPECT_THAT(Warning(), AllOf(HasSubstr("says \"ga"), Not(HasSubstr("\033")), Not(HasSubstr("\n"))));
  WriteTool("echo ipaddr:10.0.0.1; exit 1");  // the tool failed: its output does not count
  EXPECT_EQ(Add(), "0= 1=");
}

TEST_F(AddDevicesTest, TenMegabytesAreNotKept) {
  WriteTool("head -c 10000000 /dev/zero | tr '\\0' x");
  EXPECT_EQ(Add(), "0= 1=");
  EXPECT_LT(Warning().size(), 2000u);
  WriteTool("echo ipaddr:10.0.0.$2; head -c 10000000 /dev/zero | tr '\\0' x");
  EXPECT_EQ(Add(), "0=10.0.0.0 1=10.0.0.1") << "the address stands in its first bytes";
}

TEST_F(AddDevicesTest, AHangingToolCostsOneCallForEachDevice) {
  WriteTool("test $2 = 1 && echo ipaddr:10.0.0.1 && exit 0\nsleep 1000 & wait");
  WriteConf("address_1=10.0.0.1\n");  // so that device 1 needs no call
  search_.call_limit = absl::Milliseconds(50);
  EXPECT_EQ(Add(), "0= 1=10.0.0.1");
  EXPECT_THAT(Warning(), AllOf(HasSubstr("hccn_tool -i 0 -ip -g has not answered"), HasSubstr("has no address_0"),
                               HasSubstr("device 0 are not known")));
}

TEST_F(AddDevicesTest, ManyHangingCallsEndWithTheWholeLimit) {
  WriteTool("exec sleep 1000");
  for (int slot = 2; slot < 64; ++slot) node_.add_slots();
  search_.call_limit = absl::Milliseconds(50);
  search_.whole_limit = absl::Milliseconds(120);
  const MonotonicTime start = search_.clock->Read().monotonic;
  Add();
  EXPECT_LT(search_.clock->Read().monotonic - start, absl::Seconds(2));
  EXPECT_THAT(Warning(), HasSubstr("hccn_tool took too long"));
}

TEST_F(AddDevicesTest, SuperPodsAreTold) {
  settings_.device_ips = "1.1.1.1,1.1.1.2";
  settings_.super_pod = "pod-a";
  settings_.super_device_ids = "16,17";
  Add();
  EXPECT_EQ(node_.super_pod(), "pod-a");
  EXPECT_EQ(node_.slots(1).super_device_id(), "17");
  settings_.super_device_ids = "16,17,18";
  EXPECT_THAT(Add(), HasSubstr("--super_device_ids has 3 items"));
}

class AddDevicesAsRoot : public AddDevicesTest {
 protected:
  void SetUp() override {
    if (geteuid() != 0) GTEST_SKIP() << "another user trusts all files that it can read";
  }
};

TEST_F(AddDevicesAsRoot, AFileThatOthersCouldHaveWrittenIsNotUsedAndThatIsSaid) {
  WriteConf("address_0=192.168.0.1\naddress_1=192.168.0.2\n");
  const std::string path = search_.roots.etc + "/hccn.conf";
  EXPECT_EQ(Add(), "0=192.168.0.1 1=192.168.0.2");
  chmod(path.c_str(), 0666);
  node_.clear_slots();
  for (int slot = 0; slot < 2; ++slot) node_.add_slots();
  EXPECT_EQ(Add(), "0= 1=");
  EXPECT_THAT(Warning(), HasSubstr(path + " is not used: users other than root can change it"));
  chmod(path.c_str(), 0644);
  ASSERT_EQ(chown(path.c_str(), 54321, 0), 0);
  EXPECT_EQ(Add(), "0= 1=");
  ASSERT_EQ(chown(path.c_str(), 0, 0), 0);
  chmod(search_.roots.etc.c_str(), 0777);
  EXPECT_EQ(Add(), "0= 1=");
  EXPECT_THAT(Warning(), HasSubstr("is not used"));
}

TEST_F(AddDevicesAsRoot, AToolThatOthersCouldHaveWrittenIsNotStartedAndThatIsSaid) {
  const std::string path = WriteTool("touch " + folder_.path() + "/asked; echo ipaddr:10.0.0.1");
  const auto is_refused = [&] {
    EXPECT_EQ(Add(), "0= 1=");
    EXPECT_THAT(Warning(), HasSubstr("/bin/hccn_tool is not used: users other than root can change it"));
    return access((folder_.path() + "/asked").c_str(), F_OK) != 0;
  };
  chmod(path.c_str(), 0775);
  EXPECT_TRUE(is_refused());
  chmod(path.c_str(), 0755);
  ASSERT_EQ(chown(path.c_str(), 54321, 0), 0);
  EXPECT_TRUE(is_refused());
  ASSERT_EQ(chown(path.c_str(), 0, 0), 0);
  chmod(search_.roots.tools.c_str(), 0777);
  EXPECT_TRUE(is_refused());
}

TEST_F(AddDevicesAsRoot, BehindSuchAToolTheNextOneOfThePathIsTaken) {
  chmod(WriteTool("echo ipaddr:6.6.6.6").c_str(), 0777);
  const std::string good = folder_.Write("good/hccn_tool", "#!/bin/sh\necho ipaddr:10.0.0.$2\n");
  chmod(good.c_str(), 0755);
  search_.search_path = absl::StrCat("relative:", search_.roots.tools, ":", folder_.path(), "/good:/usr/bin:/bin");
  search_.roots.tools.clear();
  EXPECT_EQ(Add(), "0=10.0.0.0 1=10.0.0.1");
  EXPECT_THAT(warnings_, IsEmpty());
}

}  // namespace
}  // namespace muster::agent
