#include "ring/plan.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>

namespace muster::ring {
namespace {

using ::testing::HasSubstr;
using Json = nlohmann::json;

Json File(uint32_t size, const std::string& fingerprint = "") {
  Json peers = Json::array();
  for (uint32_t rank = 0; rank < size; ++rank) {
    peers.push_back({{"rank", rank},
                     {"role", "worker"},
                     {"node_id", "n"},
                     {"node_rank", rank / 2},
                     {"host", "h" + std::to_string(rank / 2)},
                     {"address", "10.0.0.1"},
                     {"local_rank", rank % 2},
                     {"ring_port", 4000 + rank},
                     {"device_id", "0"},
                     {"device_address", ""},
                     {"certificate_fingerprint", fingerprint}});
  }
  return {{"schema", "muster.cluster/1"},
          {"job_id", "j"},
          {"run", 1},
          {"round", 2},
          {"role", "worker"},
          {"world_size", size},
          {"local_ranks", Json::array({{{"rank", 0}}, {{"rank", 1}}})},
          {"peers", peers},
          {"peers_complete", true}};
}

std::string ErrorOf(const Json& file, std::optional<uint32_t> rank = 0) {
  return std::string(ParsePlan(file.dump(), rank).status().message());
}

TEST(Plan, KnowsItsNeighbours) {
  const auto plan = ParsePlan(File(4).dump(), 0);
  ASSERT_TRUE(plan.ok()) << plan.status();
  EXPECT_EQ(plan->next().port, 4001);
  EXPECT_EQ(plan->previous().port, 4003);
  EXPECT_EQ(plan->round, 2u);
  EXPECT_FALSE(plan->is_secure);
  EXPECT_TRUE(plan->IsInsideMachine(0));
  EXPECT_FALSE(plan->IsInsideMachine(1));
  EXPECT_FALSE(plan->IsInsideMachine(3)) << "the last link leads back to the first machine";
  EXPECT_EQ(plan->next().Where(), "rank 1 on h0 (10.0.0.1:4001)");
}

TEST(Plan, TheOrderOfTheListSaysNothing) {
  Json file = File(3);
  std::swap(file["peers"][0], file["peers"][2]);
  EXPECT_EQ(ParsePlan(file.dump(), 1)->next().port, 4002);
}

TEST(Plan, OtherRolesHaveARingOfTheirOwn) {
  Json file = File(2);
  Json server = file["peers"][0];
  server["role"] = "server";
  file["peers"].push_back(server);
  EXPECT_EQ(ParsePlan(file.dump(), 0)->size(), 2u);
}

TEST(Plan, SeveralLocalRanksNeedToBeTold) {
  EXPECT_THAT(ErrorOf(File(4), std::nullopt), HasSubstr("--rank"));
  EXPECT_THAT(ErrorOf(File(4), 3), HasSubstr("is not a rank of this node"));
  Json file = File(4);
  file["local_ranks"] = Json::array({{{"rank", 2}}});
  EXPECT_EQ(ParsePlan(file.dump(), std::nullopt)->rank, 2u);
}

TEST(Plan, AllHaveCertificatesOrNone) {
  const std::string fingerprint(64, 'a');
  EXPECT_TRUE(ParsePlan(File(2, fingerprint).dump(), 0)->is_secure);
  Json file = File(2, fingerprint);
  file["peers"][1]["certificate_fingerprint"] = "";
  EXPECT_THAT(ErrorOf(file), HasSubstr("rank 1 on h0 (10.0.0.1:4001) announced no certificate"));
}

TEST(Plan, EachMistakeNamesItsMember) {
  const auto with = [](const char* member, const Json& value) {
    Json file = File(2);
    file["peers"][1][member] = value;
    return ErrorOf(file);
  };
  EXPECT_THAT(with("rank", -1), HasSubstr("\"rank\""));
  EXPECT_THAT(with("rank", 0), HasSubstr("twice"));
  EXPECT_THAT(with("rank", 7), HasSubstr("beyond"));
  EXPECT_THAT(with("ring_port", 0), HasSubstr("ring_port"));
  EXPECT_THAT(with("ring_port", 70000), HasSubstr("ring_port"));
  EXPECT_THAT(with("address", "nowhere"), HasSubstr("address"));
  EXPECT_THAT(with("certificate_fingerprint", "AB"), HasSubstr("certificate_fingerprint"));
  EXPECT_THAT(with("host", 3), HasSubstr("host"));
  EXPECT_THAT(with("role", "server"), HasSubstr("rank 1 is not in the list"));
}

TEST(Plan, AnIncompleteListIsReported) {
  Json file = File(2);
  file["peers_complete"] = false;
  EXPECT_THAT(ErrorOf(file), HasSubstr("up to 1024 ranks"));
  file = File(2);
  file["schema"] = "muster.cluster/2";
  EXPECT_THAT(ErrorOf(file), HasSubstr("schema"));
}

TEST(Plan, GarbageIsAnErrorAndNeverAnException) {
  for (const char* bad : {"", "[]", "1", "{", "null", "{\"schema\": \"muster.cluster/1\"}",
                          "{\"schema\": \"muster.cluster/1\", \"peers\": 3, \"world_size\": 4000000000}"}) {
    EXPECT_FALSE(ParsePlan(bad, 0).ok()) << bad;
  }
  const std::string good = File(2).dump();
  for (size_t size = 0; size < good.size(); size += 5) EXPECT_FALSE(ParsePlan(good.substr(0, size), 0).ok()) << size;
}

}  // namespace
}  // namespace muster::ring
