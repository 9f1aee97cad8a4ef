#include "ctl/certs/subject.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

namespace muster::certs {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

TEST(Subject, NamesOfEachKind) {
  EXPECT_EQ(SchedulerSubject("muster", {"n"})->uri, "spiffe://muster/muster/*/scheduler");
  EXPECT_EQ(NodeSubject("t.example", "*", "3")->uri, "spiffe://t.example/muster/*/node/3");
  EXPECT_EQ(NodeSubject("muster", "train", "*")->uri, "spiffe://muster/muster/train/node/*");
  EXPECT_EQ(HostSubject("muster", "*", "gpu1")->uri, "spiffe://muster/muster/*/host/gpu1/*");
  EXPECT_EQ(AdminSubject("muster", "*")->uri, "spiffe://muster/muster/*/admin");
  EXPECT_EQ(AdminSubject("muster", "train")->uri, "spiffe://muster/muster/train/admin");
}

TEST(Subject, IsReadAsItWasIssued) {
  for (const std::string& id : {std::string("3"), std::string("a.b_c:d@e-1"), std::string(128, 'x')}) {
    for (const std::string& job : {std::string("*"), id}) {
      const PeerNameResult node = ParsePeerName(NodeSubject("t.example", job, id)->uri);
      EXPECT_EQ(node.name, (PeerName{Kind::kNode, "t.example", job, id})) << node.refusal.text;
      const PeerNameResult admin = ParsePeerName(AdminSubject("t.example", job)->uri);
      EXPECT_EQ(admin.name, (PeerName{Kind::kAdmin, "t.example", job, ""})) << admin.refusal.text;
    }
  }
}

TEST(Subject, FoldersOfEachKind) {
  EXPECT_EQ(SchedulerSubject("muster", {"n"})->name, "scheduler");
  EXPECT_EQ(NodeSubject("muster", "*", "3")->name, "node-3");
  EXPECT_EQ(NodeSubject("muster", "train", "*")->name, "train-node-any");
  EXPECT_EQ(HostSubject("muster", "*", "gpu1")->name, "host-gpu1");
  EXPECT_EQ(AdminSubject("muster", "*")->name, "admin");
  EXPECT_EQ(AdminSubject("muster", "train")->name, "train-admin");
}

TEST(Subject, ASchedulerIsAlsoFoundAsLocalhostAndNothingIsTwice) {
  const auto subject = SchedulerSubject("muster", {"Node1", "node1", "10.0.0.1", "[::1]"});
  ASSERT_TRUE(subject.ok());
  EXPECT_THAT(subject->hosts, ElementsAre("node1", "10.0.0.1", "::1", "localhost", "127.0.0.1"));
}

TEST(Subject, ASchedulerNeedsAHost) {
  EXPECT_THAT(std::string(SchedulerSubject("muster", {}).status().message()), HasSubstr("--host"));
  EXPECT_FALSE(SchedulerSubject("muster", std::vector<std::string>(65, "h")).ok());
}

TEST(Subject, NoNameLeadsOutOfItsPlace) {
  for (const char* bad : {"", ".", "..", "a/b", "a b", "a%2f", "\xc3\xa4"}) {
    EXPECT_FALSE(NodeSubject("muster", "*", bad).ok()) << bad;
    EXPECT_FALSE(NodeSubject("muster", bad, "1").ok()) << bad;
    EXPECT_FALSE(HostSubject("muster", "*", bad).ok()) << bad;
  }
  EXPECT_FALSE(HostSubject("muster", "*", "*").ok());
  EXPECT_FALSE(NodeSubject("muster", "*", std::string(129, 'a')).ok());
}

TEST(CheckHost, NamesAndAddresses) {
  EXPECT_FALSE(CheckHost("fe80::1").ok());
  for (const char* good : {"node1", "a.b-c.example", "10.0.0.1", "fd00::1", "my_host"}) {
    EXPECT_TRUE(CheckHost(good).ok()) << good;
  }
  for (const char* bad : {"", "a..b", "-a", "a:8118", "http://a", "*", "a,DNS:b", "a b"}) {
    EXPECT_FALSE(CheckHost(bad).ok()) << bad;
  }
  EXPECT_FALSE(CheckHost(std::string(64, 'a')).ok());
}

TEST(CheckTrustDomain, SmallLettersOnly) {
  for (const char* good : {"muster", "a.b-c_1"}) EXPECT_TRUE(CheckTrustDomain(good).ok()) << good;
  for (const char* bad : {"", "Muster", "a/b", "a:1", "a b"}) EXPECT_FALSE(CheckTrustDomain(bad).ok()) << bad;
  EXPECT_FALSE(CheckTrustDomain(std::string(256, 'a')).ok());
}

TEST(CheckName, IsAFolderOfItsOwn) {
  EXPECT_TRUE(CheckName("node-3").ok());
  for (const char* bad : {"", ".x", ".", "..", "-rf", "-", "a/b"}) EXPECT_FALSE(CheckName(bad).ok()) << bad;
}

TEST(Kind, WordsGoBothWays) {
  for (const Kind kind : {Kind::kScheduler, Kind::kNode, Kind::kHost, Kind::kAdmin}) {
    EXPECT_EQ(KindFromWord(KindWord(kind)), kind);
  }
  EXPECT_EQ(KindFromWord("king"), std::nullopt);
}

}  // namespace
}  // namespace muster::certs
