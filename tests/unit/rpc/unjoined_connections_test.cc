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
  // Who had to go for it.
  std::string Add(const std::string& peer, double seconds) {
    const int fd = ++last_fd_;
    inodes_[fd] = 1000u + static_cast<uint64_t>(fd);
    const auto gone = table_.Add(peer, {fd, inodes_[fd]}, At(seconds));
    return gone.has_value() ? gone->peer : "";
  }
  std::vector<std::string> SweepAt(double seconds) {
    std::vector<std::string> names;
    for (const PeerSocket& overdue : table_.Sweep(At(seconds), [this](int fd) -> std::optional<uint64_t> {
           const auto found = inodes_.find(fd);
           return found == inodes_.end() ? std::nullopt : std::optional<uint64_t>(found->second);
         })) {
      names.push_back(overdue.peer);
    }
    return names;
  }

  UnjoinedConnections table_{{.limit = 3, .calm_limit = absl::Seconds(60)}};
  std::map<int, uint64_t> inodes_;
  int last_fd_ = 0;
};

TEST_F(UnjoinedConnectionsTest, WhoeverHasMadeNoCallForLongestMakesRoom) {
  EXPECT_EQ(Add("a", 0), "");
  EXPECT_EQ(Add("b", 1), "");
  EXPECT_EQ(Add("c", 2), "");
  table_.NoteCall("a", At(3));
  EXPECT_EQ(Add("d", 4), "b");
  EXPECT_EQ(Add("e", 5), "c");
  EXPECT_EQ(Add("f", 6), "a");
}

TEST_F(UnjoinedConnectionsTest, WhoeverHasJoinedIsNotUnjoined) {
  for (int i = 0; i < 100; ++i) {
    const std::string agent = "agent " + std::to_string(i);
    EXPECT_EQ(Add(agent, i), "");
    table_.NoteJoined(agent);
  }
  EXPECT_TRUE(table_.empty());
  EXPECT_THAT(SweepAt(1000), IsEmpty());
}

TEST_F(UnjoinedConnectionsTest, AndIsOneAgainWhenItsLastStreamHasEnded) {
  Add("a", 0);
  table_.NoteJoined("a");
  table_.NoteJoined("a");
  table_.NoteLeft("a", At(100));
  EXPECT_TRUE(table_.empty());
  table_.NoteLeft("a", At(200));
  EXPECT_FALSE(table_.empty());
  EXPECT_THAT(SweepAt(259), IsEmpty());
  EXPECT_THAT(SweepAt(260), ElementsAre("a"));
  table_.NoteLeft("a", At(300));
  EXPECT_TRUE(table_.empty());
}

TEST_F(UnjoinedConnectionsTest, CalmOnesHaveALimitAndGoneOnesAreForgotten) {
  Add("a", 0);
  Add("b", 0);
  Add("gone", 0);
  inodes_.erase(3);
  table_.NoteCall("b", At(30));
  EXPECT_THAT(SweepAt(59), IsEmpty());
  EXPECT_EQ(Add("c", 59), "") << "the one that is gone takes no room";
  EXPECT_THAT(SweepAt(60), ElementsAre("a"));
  inodes_[2] = 7;  // the number is another socket's now
  EXPECT_THAT(SweepAt(200), ElementsAre("c"));
  EXPECT_TRUE(table_.empty());
}

TEST_F(UnjoinedConnectionsTest, APortThatIsUsedAgainIsAnotherConnection) {
  Add("a", 0);
  Add("a", 50);
  EXPECT_THAT(SweepAt(70), IsEmpty());
  EXPECT_THAT(SweepAt(110), ElementsAre("a"));
}

TEST_F(UnjoinedConnectionsTest, StrangersToTheTableDoNotMatter) {
  table_.NoteCall("a", At(0));
  table_.NoteJoined("a");
  table_.NoteLeft("a", At(0));
  EXPECT_TRUE(table_.empty());
}

}  // namespace
}  // namespace muster::scheduler
