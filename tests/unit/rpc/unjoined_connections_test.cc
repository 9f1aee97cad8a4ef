#include "scheduler/ingress/unjoined_connections.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>

namespace muster::scheduler {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

MonotonicTime At(double seconds) { return MonotonicTime() + absl::Seconds(seconds); }

class UnjoinedConnectionsTest : public ::testing::Test {
 protected:
  // Adds a connection of `peer`. Returns the peer whose connection had to make room for it.
  std::string Add(const std::string& peer, double seconds) {
    ids_[peer] = ++last_id_;
    const auto gone = table_.Add({last_id_, peer}, At(seconds));
    return gone.has_value() ? gone->peer : "";
  }
  uint64_t IdOf(const std::string& peer) { return ids_[peer]; }
  std::vector<std::string> SweepAt(double seconds) {
    std::vector<std::string> names;
    for (const NamedConnection& overdue : table_.TakeOverdue(At(seconds))) names.push_back(overdue.peer);
    return names;
  }

  UnjoinedConnections table_{{.limit = 3, .calm_limit = absl::Seconds(60)}};
  std::map<std::string, uint64_t> ids_;
  uint64_t last_id_ = 0;
};

TEST_F(UnjoinedConnectionsTest, WhereMemoryIsScarceASecondOfCalmIsEnough) {
  Add("calm", 0);
  Add("joined", 0);
  Add("busy", 0);
  table_.NoteJoined(IdOf("joined"));
  table_.NoteCall(IdOf("busy"), At(1.5));
  const std::vector<NamedConnection> taken = table_.TakeCalm(At(2), absl::Seconds(1));
  ASSERT_EQ(taken.size(), 1u);
  EXPECT_EQ(taken[0].peer, "calm");
}

TEST_F(UnjoinedConnectionsTest, TheConnectionLongestWithoutCallMakesRoom) {
  EXPECT_EQ(Add("a", 0), "");
  EXPECT_EQ(Add("b", 1), "");
  EXPECT_EQ(Add("c", 2), "");
  table_.NoteCall(IdOf("a"), At(3));
  EXPECT_EQ(Add("d", 4), "b");
  EXPECT_EQ(Add("e", 5), "c");
  EXPECT_EQ(Add("f", 6), "a");
}

TEST_F(UnjoinedConnectionsTest, AJoinedConnectionIsNotUnjoined) {
  for (int i = 0; i < 100; ++i) {
    const std::string agent = "agent " + std::to_string(i);
    EXPECT_EQ(Add(agent, i), "");
    table_.NoteJoined(IdOf(agent));
  }
  EXPECT_TRUE(table_.empty());
  EXPECT_THAT(SweepAt(1000), IsEmpty());
}

TEST_F(UnjoinedConnectionsTest, AndIsOneAgainWhenItsLastStreamHasEnded) {
  Add("a", 0);
  table_.NoteJoined(IdOf("a"));
  table_.NoteJoined(IdOf("a"));
  table_.NoteLeft(IdOf("a"), At(100));
  EXPECT_TRUE(table_.empty());
  table_.NoteLeft(IdOf("a"), At(200));
  EXPECT_FALSE(table_.empty());
  EXPECT_THAT(SweepAt(259), IsEmpty());
  EXPECT_THAT(SweepAt(260), ElementsAre("a"));
  table_.NoteLeft(IdOf("a"), At(300));
  EXPECT_TRUE(table_.empty());
}

TEST_F(UnjoinedConnectionsTest, CalmOnesHaveALimitAndGoneOnesAreForgotten) {
  Add("a", 0);
  Add("b", 0);
  Add("gone", 0);
  table_.NoteClosed(IdOf("gone"));
  table_.NoteCall(IdOf("b"), At(30));
  EXPECT_THAT(SweepAt(59), IsEmpty());
  EXPECT_EQ(Add("c", 59), "") << "the one that is gone takes no room";
  EXPECT_THAT(SweepAt(60), ElementsAre("a"));
  table_.NoteClosed(IdOf("b"));
  EXPECT_THAT(SweepAt(200), ElementsAre("c"));
  EXPECT_TRUE(table_.empty());
}

TEST_F(UnjoinedConnectionsTest, UnknownConnectionsDoNotMatter) {
  table_.NoteCall(IdOf("a"), At(0));
  table_.NoteJoined(IdOf("a"));
  table_.NoteLeft(IdOf("a"), At(0));
  table_.NoteClosed(IdOf("a"));
  EXPECT_TRUE(table_.empty());
}

}  // namespace
}  // namespace muster::scheduler
