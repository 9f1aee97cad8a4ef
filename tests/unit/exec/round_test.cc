#include "worker_agent/gateway/exec/round.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "sample_peers.h"

namespace muster::exec {
namespace {

using testing::HasSubstr;

Asker From(const std::string& address, std::optional<PeerName> name = std::nullopt) {
  return {*IpAddress::Parse(address), false, std::move(name)};
}

PeerName NodeName(const std::string& job, const std::string& id) {
  PeerName name;
  name.trust_domain = "site";
  name.job = job;
  name.id = id;
  return name;
}

class RoundTest : public testing::Test {
 protected:
  Round round_ = *RoundOf(SamplePeers(), "b", "token");
  Request request_{7, 2, "key of b", "job", "a", "b", "true"};
};

TEST_F(RoundTest, AnAgentOfTheRoundIsLetIn) {
  EXPECT_EQ(Judge(&round_, request_, From("10.0.0.1")).code, AnswerCode::kGo);
  EXPECT_EQ(Judge(&round_, request_, From("10.0.0.1", NodeName("job", "a"))).code, AnswerCode::kGo);
  EXPECT_EQ(Judge(&round_, request_, From("10.0.0.1", NodeName("*", "*"))).code, AnswerCode::kGo);
  request_.from = "c";
  EXPECT_EQ(Judge(&round_, request_, {*IpAddress::Parse("127.0.0.1"), true, {}}).code, AnswerCode::kGo);
}

TEST_F(RoundTest, NoOtherAgentIsLetIn) {
  const auto refused = [&](auto change, const Asker& asker, const std::string& why) {
    Request request = request_;
    change(request);
    const Judgement answer = Judge(&round_, request, asker);
    EXPECT_EQ(answer.code, AnswerCode::kRefused) << why;
    EXPECT_NE(answer.refusal, v1::RemoteCommands::NOT_REFUSED) << why;
    EXPECT_THAT(answer.text, HasSubstr(why));
  };
  const Asker good = From("10.0.0.1");
  refused([](Request& r) { r.job = "other"; }, good, "of another job");
  refused([](Request& r) { r.round = 1; }, good, "of another round");
  refused([](Request& r) { r.run = 6; }, good, "of another round");
  refused([](Request& r) { r.run = 8; }, good, "of another round");
  refused([](Request& r) { r.to = "c"; }, good, "meant for another node");
  refused([](Request& r) { r.secret = "key of c"; }, good, "does not know this node's key");
  refused([](Request& r) { r.secret = ""; }, good, "does not know this node's key");
  refused([](Request& r) { r.from = "x\n"; }, good, "x\\n is no node of this round");
  refused([](Request&) {}, From("10.0.0.9"), "a has not reported that address");
  refused([](Request&) {}, {*IpAddress::Parse("127.0.0.1"), true, {}}, "a has not reported that address");
  refused([](Request&) {}, From("10.0.0.1", NodeName("other", "a")), "which is not a of job job");
  refused([](Request&) {}, From("10.0.0.1", NodeName("job", "c")), "which is not a of job job");
  round_ = *RoundOf(SamplePeers(), "a", "token");
  refused(
      [](Request& r) {
        r.to = "a";
        r.secret = "key of a";
        r.from = "b";
      },
      From("10.0.0.2"), "which takes no remote commands");
}

TEST_F(RoundTest, AnEarlyRequestIsRetried) {
  EXPECT_EQ(Judge(nullptr, request_, From("10.0.0.1")).code, AnswerCode::kLater);
  request_.round = 3;
  EXPECT_EQ(Judge(&round_, request_, From("10.0.0.1")).code, AnswerCode::kLater);
}

TEST_F(RoundTest, HostsAreFoundAsLaunchersCallThem) {
  const auto find = [&](const std::string& host) {
    const Peer* const peer = FindHost(round_, host);
    return peer == nullptr ? "" : peer->node_id;
  };
  EXPECT_EQ(find("10.0.0.1"), "a");
  EXPECT_EQ(find("host1.site"), "a");
  EXPECT_EQ(find("host1"), "a");
  EXPECT_EQ(find("a"), "a");
  EXPECT_EQ(find("192.168.7.2"), "b");
  EXPECT_EQ(find("host2"), "b") << "this node's own";
  EXPECT_EQ(find("localhost"), "b");
  EXPECT_EQ(find("127.0.0.1"), "b");
  EXPECT_EQ(find("10.0.0.9"), "");
  EXPECT_EQ(find("host3"), "");
  EXPECT_EQ(find(""), "");
  EXPECT_TRUE(IsHere(round_, *FindHost(round_, "c")));
  EXPECT_FALSE(IsHere(round_, *FindHost(round_, "a")));
}

TEST_F(RoundTest, ANodeThatTakesNoneIsNamed) {
  v1::PeerList peers = SamplePeers();
  peers.mutable_nodes(1)->clear_exec_port();
  const absl::Status named = RoundOf(peers, "a", "token").status();
  EXPECT_THAT(std::string(named.message()), HasSubstr("these nodes take no remote commands: b (host2.site); start"));
  for (v1::PeerNode& node : *peers.mutable_nodes()) node.clear_exec_port();
  EXPECT_THAT(std::string(RoundOf(peers, "a", "token").status().message()), HasSubstr("ms-scheduler has a version"));
  EXPECT_FALSE(RoundOf(SamplePeers(), "x", "token").ok());
}

TEST_F(RoundTest, HostFilesCountTheSlotsOfMachines) {
  EXPECT_EQ(HostFileText(round_, " slots="), "10.0.0.1 slots=2\n10.0.0.2 slots=4\n");
  EXPECT_EQ(HostFileText(round_, ":"), "10.0.0.1:2\n10.0.0.2:4\n");
}

TEST(SecretTest, IsComparedWhole) {
  EXPECT_TRUE(IsSameSecret("abc", "abc"));
  EXPECT_FALSE(IsSameSecret("abc", "abd"));
  EXPECT_FALSE(IsSameSecret("abc", "ab"));
  EXPECT_FALSE(IsSameSecret("", ""));
}

}  // namespace
}  // namespace muster::exec
