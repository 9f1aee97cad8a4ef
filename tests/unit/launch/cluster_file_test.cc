#include "worker_agent/launch/cluster_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <nlohmann/json.hpp>

#include "tests/unit/launch/sample_round.h"
#include "tests/unit/launch/temporary_folder.h"
#include "worker_agent/launch/peers.h"

namespace muster::agent {
namespace {

using ::testing::HasSubstr;
using Json = nlohmann::json;

class ClusterFileTest : public ::testing::Test {
 protected:
  ClusterFileTest() {
    input.desired = &desired;
    input.job_id = "digits";
    input.node_id = "b-1";
    input.host_name = "b";
    input.own_address = "fd00::2";
    input.offers.resize(2);
    input.offers[0].set_ring_port(41004);
    input.offers[1].set_ring_port(41005);
  }

  v1::DesiredState desired = SampleState(1);
  const v1::PeerList peers = SamplePeers();
  ClusterFileInput input;
};

TEST_F(ClusterFileTest, DescribesTheWholeCluster) {
  input.peers = &peers;
  const Json file = Json::parse(ClusterFileText(input));
  EXPECT_EQ(file["schema"], "muster.cluster/1");
  EXPECT_EQ(file["job_id"], "digits");
  EXPECT_EQ(file["run"], 3);
  EXPECT_EQ(file["round"], 2);
  EXPECT_EQ(file["restart_count"], 5);
  EXPECT_EQ(file["role"], "worker");
  EXPECT_EQ(file["world_size"], 6);
  EXPECT_EQ(file["server_num"], 0);
  EXPECT_EQ(file["nnodes"], 2);
  EXPECT_EQ(file["node_id"], "b-1");
  EXPECT_EQ(file["node_rank"], 1);
  EXPECT_EQ(file["master"], Json::parse(R"({"address":"10.0.0.1","port":40000})"));
  EXPECT_EQ(file["peers_complete"], true);
  ASSERT_EQ(file["peers"].size(), 6u);
  EXPECT_EQ(file["peers"][5], Json::parse(R"({"rank":5,"role":"worker","node_id":"b-1","node_rank":1,"host":"b",
      "address":"fd00::2","local_rank":1,"ring_port":41005,"device_id":"1","device_address":"",
      "certificate_fingerprint":")" + FingerprintOf('b') +
                                          R"("})"));
  ASSERT_EQ(file["local_ranks"].size(), 2u);
  EXPECT_EQ(file["local_ranks"][0], Json::parse(R"({"rank":4,"local_rank":0,"device_id":"0","ring":{
      "previous":{"rank":3,"node_id":"a-1","host":"a","address":"10.0.0.1","port":41003,"fingerprint":")" +
                                                FingerprintOf('a') +
                                                R"("},
      "next":{"rank":5,"node_id":"b-1","host":"b","address":"fd00::2","port":41005,"fingerprint":")" +
                                                FingerprintOf('b') + R"("}}})"));
  EXPECT_EQ(file["local_ranks"][1]["ring"]["previous"]["rank"], 4) << "its own, which the scheduler does not send";
  EXPECT_EQ(file["local_ranks"][1]["ring"]["previous"]["port"], 41004);
  EXPECT_EQ(file["local_ranks"][1]["ring"]["next"]["rank"], 0);
  EXPECT_EQ(file["local_ranks"][1]["ring"]["next"]["node_id"], "a-1");
}

TEST_F(ClusterFileTest, WithoutThePeerListHasOwnRanksAndNeighbours) {
  const Json file = Json::parse(ClusterFileText(input));
  EXPECT_EQ(file["peers_complete"], false);
  for (const Json& peer : file["peers"]) {
    EXPECT_EQ(peer["certificate_fingerprint"], FingerprintOf(peer["node_id"] == "b-1" ? 'b' : 'a'));
  }
  std::vector<int> ranks;
  for (const Json& peer : file["peers"]) ranks.push_back(peer["rank"]);
  EXPECT_EQ(ranks, (std::vector<int>{0, 3, 4, 5}));
  EXPECT_EQ(file["peers"][1]["address"], "10.0.0.1");
  EXPECT_EQ(file["peers"][1]["ring_port"], 41003);
  EXPECT_EQ(file["peers"][3]["ring_port"], 41005);
  EXPECT_EQ(file["peers"][3]["local_rank"], 1) << "an own rank that is a neighbour too stays whole";
}

TEST_F(ClusterFileTest, ALoneRankIsItsOwnNeighbour) {
  v1::Assignment& assignment = *desired.mutable_assignment();
  assignment.set_worker_num(1);
  assignment.mutable_slots()->DeleteSubrange(1, 1);
  assignment.mutable_slots(0)->set_rank(0);
  assignment.mutable_slots(0)->clear_previous();
  const Json ring = Json::parse(ClusterFileText(input))["local_ranks"][0]["ring"];
  EXPECT_EQ(ring["previous"], ring["next"]);
  EXPECT_EQ(ring["next"]["rank"], 0);
  EXPECT_EQ(ring["next"]["node_id"], "b-1");
  EXPECT_EQ(ring["next"]["port"], 41004);
}

TEST_F(ClusterFileTest, AnUnknownNeighbourIsNull) {
  desired.mutable_assignment()->mutable_slots(0)->clear_previous();
  desired.mutable_assignment()->mutable_slots(1)->clear_next();
  const Json file = Json::parse(ClusterFileText(input));
  EXPECT_TRUE(file["local_ranks"][0]["ring"]["previous"].is_null());
  EXPECT_TRUE(file["local_ranks"][1]["ring"]["next"].is_null());
}

TEST_F(ClusterFileTest, OfferedDeviceIsToldElseTheLocalRank) {
  input.offers[1].set_device_id("6");
  input.offers[1].set_device_address("192.168.1.6");
  const Json file = Json::parse(ClusterFileText(input));
  EXPECT_EQ(file["local_ranks"][0]["device_id"], "0");
  EXPECT_EQ(file["local_ranks"][1]["device_id"], "6");
  EXPECT_EQ(file["peers"][3]["device_address"], "192.168.1.6");
}

TEST_F(ClusterFileTest, IsWrittenWholeReadableAndAlone) {
  const TemporaryFolder folder;
  const std::string path = folder.Write("cluster.json", "old");
  const mode_t before = umask(0077);
  const absl::Status status = WriteClusterFile(path, input);
  umask(before);
  ASSERT_TRUE(status.ok()) << status;
  EXPECT_EQ(ReadAll(path), ClusterFileText(input));
  struct stat info {};
  ASSERT_EQ(stat(path.c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0777, 0644u);
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(folder.path()), {}), 1) << "no temporary file stays";
}

TEST_F(ClusterFileTest, ASymbolicLinkIsReplacedNotFollowed) {
  const TemporaryFolder folder;
  const std::string target = folder.Write("target", "untouched");
  std::filesystem::create_symlink(target, folder.path() + "/cluster.json");
  ASSERT_TRUE(WriteClusterFile(folder.path() + "/cluster.json", input).ok());
  EXPECT_EQ(ReadAll(target), "untouched");
}

TEST_F(ClusterFileTest, AFolderThatIsNotThereIsNamed) {
  const absl::Status status = WriteClusterFile("/nowhere/at/all/cluster.json", input);
  EXPECT_THAT(std::string(status.message()), HasSubstr("/nowhere/at/all"));
}

TEST(CheckedPeerList, TakesOnlyTheRoundsOwn) {
  const v1::DesiredState desired = SampleState(0);
  const std::string blob = SamplePeers().SerializeAsString();
  const auto peers = CheckedPeerList(blob, "digits", desired);
  ASSERT_TRUE(peers.ok()) << peers.status();
  EXPECT_EQ(peers->nodes_size(), 2);

  std::string tampered = blob;
  tampered.back() ^= 1;
  EXPECT_THAT(std::string(CheckedPeerList(tampered, "digits", desired).status().message()), HasSubstr("digest"));
  EXPECT_FALSE(CheckedPeerList("", "digits", desired).ok());
  EXPECT_THAT(std::string(CheckedPeerList(blob, "other", desired).status().message()), HasSubstr("job digits"));

  v1::DesiredState later = desired;  // the digest is right, the round is not
  later.set_round(3);
  EXPECT_FALSE(CheckedPeerList(blob, "digits", later).ok());

  v1::DesiredState garbage = desired;
  garbage.set_peers_digest(Sha256("\xff\xff\xff"));
  EXPECT_THAT(std::string(CheckedPeerList("\xff\xff\xff", "digits", garbage).status().message()), HasSubstr("parsed"));
}

}  // namespace
}  // namespace muster::agent
