#include "worker_agent/ascend/made_table.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

namespace muster::agent {
namespace {

using ::testing::HasSubstr;
using Json = nlohmann::json;

std::vector<RankedDevice> TwoServers() {
  std::vector<RankedDevice> devices;
  for (uint32_t rank = 0; rank < 16; ++rank) {
    devices.push_back({rank, rank / 8, "10.0.0." + std::to_string(rank / 8 + 1), "n" + std::to_string(rank / 8),
                       std::to_string(rank % 8), "192.168.100." + std::to_string(100 + rank), "", ""});
  }
  return devices;
}

TEST(MadeTable, TwoServersOfEightDevicesAreTheGuidesTable) {
  const auto text = RankTableText(TwoServers());
  ASSERT_TRUE(text.ok()) << text.status();
  Json expected{{"server_count", "2"}, {"status", "completed"}, {"version", "1.0"}};
  for (int server = 0; server < 2; ++server) {
    Json devices = Json::array();
    for (int i = 0; i < 8; ++i) {
      devices.push_back({{"device_id", std::to_string(i)},
                         {"device_ip", "192.168.100." + std::to_string(100 + 8 * server + i)},
                         {"rank_id", std::to_string(8 * server + i)}});
    }
    expected["server_list"].push_back({{"server_id", "10.0.0." + std::to_string(server + 1)}, {"device", devices}});
  }
  EXPECT_EQ(Json::parse(*text), expected);
}

TEST(MadeTable, SuperPodsMakeItVersion12) {
  auto devices = TwoServers();
  for (auto& device : devices) {
    device.super_pod = device.machine == 0 ? "a" : "b";
    device.super_device_id = device.device_id;
  }
  const auto text = RankTableText(devices);
  ASSERT_TRUE(text.ok()) << text.status();
  EXPECT_EQ(Json::parse(*text)["version"], "1.2");
  EXPECT_EQ(Json::parse(*text)["super_pod_list"].size(), 2u);
  devices[9].super_pod.clear();
  EXPECT_THAT(std::string(RankTableText(devices).status().message()), HasSubstr("--super_pod"));
}

TEST(MadeTable, WhatIsMissingOrTwiceIsNamed) {
  auto devices = TwoServers();
  devices[3].device_id.clear();
  EXPECT_THAT(std::string(RankTableText(devices).status().message()),
              HasSubstr("node n0 (rank 3) has reported no device"));
  devices = TwoServers();
  devices[12].device_ip.clear();
  EXPECT_THAT(std::string(RankTableText(devices).status().message()), HasSubstr("device_ip_needed"));
  devices = TwoServers();
  devices[12].device_ip = devices[0].device_ip;
  EXPECT_THAT(std::string(RankTableText(devices).status().message()), HasSubstr("device_ip_unique"));
}

}  // namespace
}  // namespace muster::agent
