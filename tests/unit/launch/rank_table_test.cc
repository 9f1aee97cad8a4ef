#include "worker_agent/launch/rank_table.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <ctime>
#include <functional>
#include <nlohmann/json.hpp>

#include "absl/strings/str_cat.h"
#include "tests/unit/launch/temporary_folder.h"
#include "worker_agent/launch/table_devices.h"

namespace muster::agent {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using Json = nlohmann::json;

// Two servers with two devices each; the devices of the second are in the wrong order.
Json Sample() {
  return Json::parse(R"({"version":"1.0","status":"completed","server_count":"2","server_list":[
    {"server_id":"10.0.0.1","host_ip":"172.16.0.1","device":[
      {"device_id":"0","device_ip":"192.168.1.1","rank_id":"0"},
      {"device_id":"1","device_ip":"192.168.1.2","rank_id":"1"}]},
    {"server_id":"node-b","container_ip":"10.0.0.2","device":[
      {"device_id":"5","device_ip":"192.168.1.4","rank_id":"3"},
      {"device_id":"4","device_ip":"192.168.1.3","rank_id":"2"}]}]})");
}

std::vector<IpAddress> Addresses(std::initializer_list<const char*> texts) {
  std::vector<IpAddress> addresses;
  for (const char* text : texts) addresses.push_back(*IpAddress::Parse(text));
  return addresses;
}

TEST(RankTable, ShowsRanksAndDevicesInDeviceOrder) {
  const auto table = ParseRankTable(Sample().dump(), "t.json");
  ASSERT_TRUE(table.ok()) << table.status();
  EXPECT_EQ(table->version, "1.0");
  EXPECT_EQ(table->rank_count, 4u);
  const auto server = FindServer(*table, Addresses({"127.0.0.1", "10.0.0.2"}));
  ASSERT_TRUE(server.ok()) << server.status();
  EXPECT_EQ((*server)->server_id, "node-b");
  EXPECT_THAT(TableRanks(**server), ElementsAre(2, 3));
  const auto offers = TableOffers(**server);
  ASSERT_EQ(offers.size(), 2u);
  EXPECT_EQ(offers[0].device_id(), "4");
  EXPECT_EQ(offers[0].device_address(), "192.168.1.3");
  EXPECT_EQ(offers[1].device_id(), "5");
  EXPECT_EQ(offers[0].ring_port(), 0u);
}

TEST(RankTable, ShowsTheDeviceOfEachRank) {
  const auto table = ParseRankTable(Sample().dump(), "t.json");
  ASSERT_TRUE(table.ok()) << table.status();
  const TableDevices devices = DevicesByRank(*table);
  ASSERT_EQ(devices.size(), 4u);
  EXPECT_EQ(devices.at(3).device_id(), "5");
  EXPECT_EQ(devices.at(0).device_address(), "192.168.1.1");
}

TEST(RankTable, FindsTheServerByEachOfItsAddresses) {
  Json json = Sample();
  json["server_list"][1]["pod_ip"] = "fd00::2";
  const auto table = ParseRankTable(json.dump(), "t");
  ASSERT_TRUE(table.ok()) << table.status();
  for (const char* address : {"10.0.0.1", "172.16.0.1", "::ffff:10.0.0.1"}) {
    EXPECT_EQ((*FindServer(*table, Addresses({address})))->server_id, "10.0.0.1") << address;
  }
  for (const char* address : {"10.0.0.2", "fd00:0::2"}) {
    EXPECT_EQ((*FindServer(*table, Addresses({address})))->server_id, "node-b") << address;
  }
  const auto none = FindServer(*table, Addresses({"10.9.9.9", "::1"}));
  ASSERT_FALSE(none.ok());
  EXPECT_THAT(std::string(none.status().message()),
              AllOf(HasSubstr("10.9.9.9, ::1"), HasSubstr("10.0.0.1, node-b"), HasSubstr("MS_WORKER_IP")));
}

TEST(RankTable, NumbersInThePlaceOfTextsAreTaken) {
  Json json = Sample();
  json["server_count"] = 2;
  json["server_list"][0]["device"][0]["rank_id"] = 0;
  json["server_list"][0]["device"][0]["device_port"] = 16666;
  EXPECT_TRUE(ParseRankTable(json.dump(), "t").ok());
}

TEST(RankTable, OneServerNeedsNoDeviceAddresses) {
  Json json = Sample();
  json["server_list"].erase(1);
  json["server_count"] = "1";
  json["server_list"][0]["device"][0].erase("device_ip");
  EXPECT_TRUE(ParseRankTable(json.dump(), "t").ok());
}

TEST(RankTable, DeviceAddressesMayBeListsOfEqualLength) {
  Json json = Sample();
  int i = 0;
  for (Json& server : json["server_list"]) {
    for (Json& device : server["device"]) {
      device["device_ip"] = "1.1.1." + std::to_string(i) + ",1.1.2." + std::to_string(i);
      ++i;
    }
  }
  EXPECT_TRUE(ParseRankTable(json.dump(), "t").ok());
  json["server_list"][1]["device"][1]["device_ip"] = "1.1.3.9";
  EXPECT_FALSE(ParseRankTable(json.dump(), "t").ok());
}

Json Pods() {
  Json json = Sample();
  json["version"] = "1.2";
  json["super_pod_list"] =
      Json::parse(R"([{"super_pod_id":"0","server_list":[{"server_id":"10.0.0.1"},{"server_id":"node-b"}]}])");
  return json;
}

TEST(RankTable, WithinOneSuperPodNoDeviceAddressesAreNeeded) {
  Json json = Pods();
  ASSERT_TRUE(ParseRankTable(json.dump(), "t").ok());
  json["server_list"][0]["device"][0].erase("device_ip");
  EXPECT_TRUE(ParseRankTable(json.dump(), "t").ok());
  json["super_pod_list"] = Json::parse(R"([{"super_pod_id":"0","server_list":[{"server_id":"10.0.0.1"}]},
                                           {"super_pod_id":"1","server_list":[{"server_id":"node-b"}]}])");
  EXPECT_FALSE(ParseRankTable(json.dump(), "t").ok());
}

TEST(RankTable, EveryBrokenRuleIsNamed) {
  struct Case {
    const char* name;
    std::function<void(Json&)> break_it;
    const char* expected;
  };
  const Case cases[] = {
      {"initializing", [](Json& t) { t["status"] = "initializing"; }, "\"initializing\""},
      {"no status", [](Json& t) { t.erase("status"); }, "status"},
      {"version 2.0", [](Json& t) { t["version"] = "2.0"; }, "1.0 and 1.2"},
      {"no servers", [](Json& t) { t.erase("server_list"); }, "server_list"},
      {"empty servers", [](Json& t) { t["server_list"] = Json::array(); }, "empty"},
      {"count", [](Json& t) { t["server_count"] = "3"; }, "server_count is 3, but server_list has 2"},
      {"count no number", [](Json& t) { t["server_count"] = "two"; }, "\"two\""},
      {"server no object", [](Json& t) { t["server_list"][1] = 5; }, "server_list[1]"},
      {"no server id", [](Json& t) { t["server_list"][1].erase("server_id"); }, "server_id"},
      {"long server id", [](Json& t) { t["server_list"][1]["server_id"] = std::string(64, 'x'); }, "63"},
      {"server twice", [](Json& t) { t["server_list"][1]["server_id"] = "10.0.0.1"; },
       "server_id 10.0.0.1 appears twice"},
      {"no devices", [](Json& t) { t["server_list"][1]["device"] = Json::array(); }, "server node-b has no device"},
      {"device no object", [](Json& t) { t["server_list"][1]["device"][0] = "x"; }, "must be an object"},
      {"device twice", [](Json& t) { t["server_list"][1]["device"][0]["device_id"] = "4"; },
       "device 4 of server node-b"},
      {"device id", [](Json& t) { t["server_list"][1]["device"][0]["device_id"] = "-1"; }, "\"-1\""},
      {"device port", [](Json& t) { t["server_list"][1]["device"][0]["device_port"] = "65536"; }, "device_port"},
      {"rank twice", [](Json& t) { t["server_list"][1]["device"][0]["rank_id"] = "0"; }, "rank_id 0 is given twice"},
      {"rank gap", [](Json& t) { t["server_list"][1]["device"][0]["rank_id"] = "4"; }, "rank_id 3 is missing"},
      {"rank missing", [](Json& t) { t["server_list"][1]["device"][0].erase("rank_id"); }, "rank_id"},
      {"rank huge", [](Json& t) { t["server_list"][1]["device"][0]["rank_id"] = "99999999999"; }, "rank_id"},
      {"no device ip", [](Json& t) { t["server_list"][1]["device"][0].erase("device_ip"); }, "device_ip"},
      {"bad device ip", [](Json& t) { t["server_list"][1]["device"][0]["device_ip"] = "1.2.3"; }, "no address"},
      {"link-local device ip", [](Json& t) { t["server_list"][1]["device"][0]["device_ip"] = "fe80::1"; },
       "link-local"},
      {"link-local host ip", [](Json& t) { t["server_list"][0]["host_ip"] = "fe80::1%eth0"; }, "link-local"},
      {"link-local server", [](Json& t) { t["server_list"][0]["server_id"] = "fe80::1"; }, "link-local"},
      {"device ip twice", [](Json& t) { t["server_list"][1]["device"][0]["device_ip"] = "192.168.1.1"; },
       "192.168.1.1 appears twice"},
      {"pod misses one",
       [](Json& t) {
         t = Pods();
         t["super_pod_list"][0]["server_list"].erase(1);
       },
       "node-b is in no super pod"},
      {"pod names a stranger",
       [](Json& t) {
         t = Pods();
         t["super_pod_list"][0]["server_list"].push_back({{"server_id", "z"}});
       },
       "names server z"},
      {"two pods",
       [](Json& t) {
         t = Pods();
         t["super_pod_list"].push_back(t["super_pod_list"][0]);
       },
       "is in super pods 0 and 0"},
      {"pod no object",
       [](Json& t) {
         t = Pods();
         t["super_pod_list"].push_back(3);
       },
       "server_list"},
  };
  for (const Case& c : cases) {
    Json json = Sample();
    c.break_it(json);
    const auto table = ParseRankTable(json.dump(), "t.json");
    ASSERT_FALSE(table.ok()) << c.name;
    EXPECT_THAT(std::string(table.status().message()), AllOf(HasSubstr("rank table t.json"), HasSubstr(c.expected)))
        << c.name;
  }
}

std::string FoundIn(const std::string& text) {
  const TableReport report = CheckRankTable(text);
  return report.problems.empty() ? "" : report.problems.front().found;
}

TEST(RankTable, AMistakeIsReportedWithItsLineAndColumn) {
  struct {
    const char* text;
    const char* found;
  } const slips[] = {
      {"{\"a\": [\n  {\"b\": \"1\"},\n ]}",
       "line 3, column 2: \"]\" comes after a comma; remove the comma at line 2, column 13"},
      {"{\"a\": \"1\",\r\n}", "line 2, column 1: \"}\" comes after a comma; remove the comma at line 1, column 10"},
      {"[\n {\"a\": \"1\"}\n {\"b\": \"2\"}\n]",
       "line 3, column 2: a comma is missing before this, after line 2, column 11"},
      {"{\"a\": \"1\" \"b\": \"2\"}", "line 1, column 11: a comma is missing before this, after line 1, column 9"},
      {"{\"a\": \"1\",, \"b\": \"2\"}", "line 1, column 11: found \",\", expected a key in double quotes"},
      {"{\"é\": \"1\" \"b\": \"2\"}", "line 1, column 11: a comma is missing"},
      {"{'a': '1'}", "line 1, column 2: keys and texts need double quotes"},
      {"{\n // ranks\n}", "line 2, column 2: JSON has no comments"},
      {"{\"a\": \"1\"}\n{\"a\": \"1\"}",
       "line 2, column 1: after the whole object comes \"{\"; one file holds one table"},
      {"{\"a\": [{\"b\": \"1\"]}", "line 1, column 17: \"]\" does not close the \"{\" of line 1, column 8"},
      {"{\"a\": [\n{\"b\": \"1\"}\n", "line 2, column 11: the text ends here, cut off? The \"[\" of line 1, column 7"},
      {"{\"a\": \"1,\n\"b\": \"2\"}", "line 1, column 7: the text that begins here has no \" at its end"},
      {"{\"server_id\": 10.0.0.1}", "line 1, column 15: \"10.0.0.1\" is no value of JSON; write it as a text"},
      {"{\"rank_id\": 01}", "line 1, column 13: \"01\" is no value of JSON"},
      {"{version: 1}", "line 1, column 2: found \"version\", expected a key in double quotes"},
      {"{\"a\": \"\\x\"}", "line 1, column 9: JSON does not allow this here"},
      {"\n [1]", "line 2, column 2: it is a list, expected an object"},
      {"", "line 1, column 1: the file is empty"},
      {"\xff\xfe{\0", "line 1, column 1: the file is in UTF-16"},
  };
  for (const auto& [text, found] : slips) EXPECT_THAT(FoundIn(text), ::testing::StartsWith(found)) << text;
}

TEST(RankTable, OtherFormatsAreNamed) {
  EXPECT_THAT(FoundIn(R"({"board_id":"0x0000","group_count":"1","group_list":[{"instance_list":[{"devices":[
    {"device_id":"0","device_ip":"192.168.1.1"}],"rank_id":"0","server_id":"10.0.0.1"}]}],"status":"completed"})"),
              HasSubstr("group_list: this is the format of 2020"));
  EXPECT_THAT(FoundIn(R"({"status":"completed","rank_list":[]})"), HasSubstr("version 2.0"));
  EXPECT_THAT(FoundIn(R"({"version":"1.0","server_group_list":[]})"), HasSubstr("server_group_list"));
}

TEST(RankTable, TheRemedyHasTheRightNumber) {
  struct {
    const char* name;
    std::function<void(Json&)> break_it;
    const char* remedy;
  } const cases[] = {
      {"no count", [](Json& t) { t.erase("server_count"); }, "\"server_count\": \"2\""},
      {"count 0", [](Json& t) { t["server_count"] = "0"; }, "\"server_count\": \"2\""},
      {"count a word", [](Json& t) { t["server_count"] = "two"; }, "\"server_count\": \"2\""},
      {"no rank", [](Json& t) { t["server_list"][1]["device"][0].erase("rank_id"); }, "\"rank_id\": \"3\""},
      {"rank twice", [](Json& t) { t["server_list"][1]["device"][0]["rank_id"] = "0"; }, "\"rank_id\": \"3\""},
      {"no device id", [](Json& t) { t["server_list"][0]["device"][1].erase("device_id"); }, "\"device_id\": \"1\""},
      {"device twice", [](Json& t) { t["server_list"][0]["device"][1]["device_id"] = "0"; }, "\"device_id\": \"1\""},
      {"port", [](Json& t) { t["server_list"][0]["device"][1]["device_port"] = "x"; }, "a port from 1 to 65535"},
  };
  for (const auto& [name, break_it, remedy] : cases) {
    Json json = Sample();
    break_it(json);
    const TableReport report = CheckRankTable(json.dump());
    ASSERT_FALSE(report.problems.empty()) << name;
    EXPECT_THAT(report.problems.front().remedy, ::testing::StartsWith(remedy)) << name;
  }
}

TEST(RankTable, GarbageIsRefusedQuickly) {
  const std::string whole = Sample().dump();
  for (const std::string& text : {std::string(), whole.substr(0, whole.size() / 2), std::string("[]"),
                                  std::string("null"), std::string(1 << 20, '['), std::string("\xff\xfe{}")}) {
    const auto table = ParseRankTable(text, "t");
    ASSERT_FALSE(table.ok()) << text.substr(0, 20);
    EXPECT_THAT(std::string(table.status().message()), HasSubstr("rank table t"));
  }
}

TEST(RankTable, DeepNestingIsRefusedOutsideOfTextsOnly) {
  Json json = Sample();
  json["comment"] = R"(\"[[[[[[[[[[[[\)";
  EXPECT_TRUE(ParseRankTable(json.dump(), "t").ok());
  json["comment"] = Json::parse("[[[[[[[[1]]]]]]]]");
  EXPECT_THAT(std::string(ParseRankTable(json.dump(), "t").status().message()), HasSubstr("nest deeper than 8"));
}

// A table of `servers` servers.
std::string Large(uint32_t servers) {
  std::string text =
      absl::StrCat(R"({"version":"1.0","status":"completed","server_count":")", servers, R"(","server_list":[)");
  for (uint32_t i = 0; i < servers; ++i) {
    const std::string address = absl::StrCat("10.", i / 40'000, ".", i / 200 % 200, ".", i % 200 + 1);
    absl::StrAppend(&text, i == 0 ? "" : ",", R"({"server_id":"h)", i, R"(","device":[{"device_id":"0","device_ip":")",
                    address, R"(","rank_id":")", i, R"("}]})");
  }
  return text + "]}";
}

// Returns processor time, which other programs of the machine don't affect.
double SecondsToRead(uint32_t servers) {
  const std::string text = Large(servers);
  const std::clock_t begin = std::clock();
  const auto table = ParseRankTable(text, "t");
  const std::clock_t end = std::clock();
  EXPECT_TRUE(table.ok()) << table.status();
  return static_cast<double>(end - begin) / CLOCKS_PER_SEC;
}

// It took 45 times as long when the time was quadratic.
TEST(RankTable, TenTimesTheServersTakeAboutTenTimesTheTime) {
  const double few = std::max(SecondsToRead(10'000), SecondsToRead(10'000));
  EXPECT_LT(SecondsToRead(100'000), 20 * few) << "with " << few << " s for a tenth of them";
}

TEST(RankTable, FileIsReadWithABoundAndItsDigestTold) {
  const TemporaryFolder folder;
  const std::string path = folder.Write("table.json", "abc");
  EXPECT_FALSE(LoadRankTable(path).ok());
  folder.Write("table.json", Sample().dump());
  const auto table = LoadRankTable(path);
  ASSERT_TRUE(table.ok()) << table.status();
  EXPECT_EQ(table->digest.size(), 64u);
  EXPECT_EQ(table->digest, ParseRankTable(Sample().dump(), "other name")->digest);
  EXPECT_NE(table->digest, ParseRankTable(Sample().dump(1), "t")->digest);

  const auto missing = LoadRankTable(folder.path() + "/none.json");
  EXPECT_THAT(std::string(missing.status().message()), AllOf(HasSubstr("--rank_table_file"), HasSubstr("none.json")));
  EXPECT_FALSE(LoadRankTable(folder.path()).ok()) << "a folder is no file";
  folder.Write("big.json", std::string(kMaxRankTableBytes + 1, ' '));
  EXPECT_THAT(std::string(LoadRankTable(folder.path() + "/big.json").status().message()), HasSubstr("larger"));
}

}  // namespace
}  // namespace muster::agent
