#include "worker_agent/settings/hccl_settings.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"
#include "worker_agent/settings/device_words.h"

namespace muster::agent {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

TEST(DeviceAddresses, StandInOrderOrWithTheirDevice) {
  const auto plain = ParseDeviceAddresses("192.168.100.101, FD00::1");
  ASSERT_TRUE(plain.ok()) << plain.status();
  ASSERT_THAT(*plain, SizeIs(2));
  EXPECT_EQ((*plain)[0].address, "192.168.100.101");
  EXPECT_FALSE((*plain)[0].device_id);
  EXPECT_EQ((*plain)[1].address, "fd00::1");
  const auto named = ParseDeviceAddresses("4=1.1.1.1,0=1.1.1.2");
  ASSERT_TRUE(named.ok()) << named.status();
  EXPECT_EQ((*named)[0].device_id, 4u);
  EXPECT_EQ((*named)[1].device_id, 0u);
}

TEST(DeviceAddresses, WhatIsWrongIsSaid) {
  const std::pair<const char*, const char*> cases[] = {
      {"", "is no address"},
      {"host", "\"host\" is no address"},
      {"1.1.1.1,", "is no address"},
      {"0.0.0.0", "is no address"},
      {"0=fe80::1", "link-local"},
      {"1.1.1.1,::ffff:1.1.1.1", "1.1.1.1 appears twice"},
      {"1=1.1.1.1,1=1.1.1.2", "device 1 appears twice"},
      {"1=1.1.1.1,1.1.1.2", "some name their device and some don't"},
      {"x=1.1.1.1", "no device number"},
      {"=1.1.1.1", "no device number"},
      {"65536=1.1.1.1", "no device number"},
      {"1=", "is no address"},
  };
  for (const auto& [text, expected] : cases) {
    EXPECT_THAT(std::string(ParseDeviceAddresses(text).status().message()), HasSubstr(expected)) << text;
  }
  std::string many = "1.0.0.1";
  for (int i = 0; i < 1024; ++i) absl::StrAppend(&many, ",1.1.", i / 256, ".", i % 256);
  EXPECT_THAT(std::string(ParseDeviceAddresses(many).status().message()), HasSubstr("at most 1024"));
}

TEST(SuperDeviceIds, AreNumbersNoneTwice) {
  const auto ids = ParseSuperDeviceIds("0, 4294967295");
  ASSERT_TRUE(ids.ok()) << ids.status();
  EXPECT_THAT(*ids, ElementsAre(0u, 4294967295u));
  for (const char* text : {"", "1,", "1,1", "-1", "x", "4294967296"}) {
    EXPECT_FALSE(ParseSuperDeviceIds(text).ok()) << text;
  }
}

TEST(ChiefPort, ComesFromTheGuidesVariable) {
  AgentSettings settings;
  SettingsTable table = AgentSettingsTable(settings);
  EXPECT_THAT(LoadSettings(table, {"--hccl_mode", "chief"}, {{"CM_CHIEF_PORT", "60001"}}, true).findings.errors,
              IsEmpty());
  EXPECT_EQ(settings.chief_port, 60001);
  for (const char* port : {"0", "65521", "x"}) {
    EXPECT_THAT(LoadSettings(table, {}, {{"CM_CHIEF_PORT", port}}, true).findings.errors, SizeIs(1)) << port;
  }
}

TEST(HcclSettings, ATableAndAChiefExcludeEachOther) {
  struct Case {
    const char* name;
    void (*set)(AgentSettings&);
    const char* error;    // empty: none
    const char* warning;  // the same
  };
  const Case cases[] = {
      {"none", [](AgentSettings&) {}, "", ""},
      {"chief alone", [](AgentSettings& s) { s.hccl_mode = "chief"; }, "", ""},
      {"chief and a file", [](AgentSettings& s) { s.hccl_mode = "chief", s.rank_table_file = "/t.json"; }, "/t.json",
       ""},
      {"chief and --env", [](AgentSettings& s) { s.hccl_mode = "chief", s.env["RANK_TABLE_FILE"] = "/e.json"; },
       "/e.json", ""},
      {"chief and CM_* of --env", [](AgentSettings& s) { s.hccl_mode = "chief", s.env["CM_CHIEF_IP"] = "1.1.1.1"; }, "",
       ""},
      {"table and CM_* of --env", [](AgentSettings& s) { s.hccl_mode = "table", s.env["CM_WORKER_IP"] = "1.1.1.1"; },
       "env has CM_WORKER_IP", ""},
      {"a file and CM_* of --env",
       [](AgentSettings& s) { s.rank_table_file = "/t.json", s.env["CM_CHIEF_IP"] = "1.1.1.1"; }, "env has CM_CHIEF_IP",
       ""},
      {"half a super pod", [](AgentSettings& s) { s.hccl_mode = "table", s.super_pod = "a"; }, "belong together", ""},
      {"addresses for nobody", [](AgentSettings& s) { s.device_ips = "1.1.1.1"; }, "", "device_ips has no effect"},
  };
  for (const Case& c : cases) {
    AgentSettings settings;
    c.set(settings);
    SettingsFindings findings;
    CheckHccl(settings, findings);
    ASSERT_EQ(findings.errors.empty(), std::string(c.error).empty()) << c.name;
    ASSERT_EQ(findings.warnings.empty(), std::string(c.warning).empty()) << c.name;
    if (!findings.errors.empty()) {
      EXPECT_THAT(findings.errors, ElementsAre(HasSubstr(c.error))) << c.name;
    }
    if (!findings.warnings.empty()) {
      EXPECT_THAT(findings.warnings, ElementsAre(HasSubstr(c.warning))) << c.name;
    }
  }
}

}  // namespace
}  // namespace muster::agent
