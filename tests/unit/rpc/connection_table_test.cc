#include "scheduler/rpc/connection_table.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace muster::scheduler {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

MonotonicTime At(double seconds) { return MonotonicTime() + absl::Seconds(seconds); }

class ConnectionTableTest : public ::testing::Test {
 protected:
  std::optional<uint64_t> InodeOf(int fd) {
    const auto found = inodes_.find(fd);
    return found == inodes_.end() ? std::nullopt : std::optional<uint64_t>(found->second);
  }
  ConnectionTable::Swept SweepAt(double seconds) {
    return table_.Sweep(At(seconds), [this](int fd) { return InodeOf(fd); });
  }

  static std::vector<std::string> Names(const std::vector<PeerSocket>& sockets) {
    std::vector<std::string> names;
    for (const PeerSocket& socket : sockets) names.push_back(socket.peer);
    return names;
  }

  ConnectionTable table_{{.limit = 3,
                          .silence_limit = absl::Seconds(10),
                          .crowded_silence_limit = absl::Seconds(3),
                          .call_limit = absl::Seconds(11)}};
  std::map<int, uint64_t> inodes_;
};

TEST_F(ConnectionTableTest, WhoWasHandedOverCountsUntilTheFirstCall) {
  for (const int fd : {5, 6, 7}) table_.AddHandedOver(fd, fd * 10, "b:" + std::to_string(fd), At(0));
  EXPECT_EQ(table_.AddWaiting(8, "c:1"), std::nullopt);
  EXPECT_FALSE(table_.HasNext());
  EXPECT_EQ(table_.TakeNext(), std::nullopt);
  const auto socket = table_.NoteCall("b:6");
  ASSERT_TRUE(socket.has_value());
  EXPECT_EQ(socket->fd, 6);
  EXPECT_EQ(socket->inode, 60u);
  EXPECT_FALSE(table_.NoteCall("b:6").has_value()) << "only the first call matters";
  EXPECT_FALSE(table_.NoteCall("nobody:1").has_value());
  const auto next = table_.TakeNext();
  ASSERT_TRUE(next.has_value());
  EXPECT_EQ(next->fd, 8);
  EXPECT_EQ(next->peer, "c:1");
}

TEST_F(ConnectionTableTest, WhoHoldsManyPlacesIsNotNext) {
  table_.AddHandedOver(5, 50, "flood:1", At(0));
  table_.AddHandedOver(6, 60, "flood:2", At(0));
  EXPECT_EQ(table_.AddWaiting(7, "flood:3"), std::nullopt);
  EXPECT_EQ(table_.AddWaiting(8, "honest:1"), std::nullopt);
  EXPECT_EQ(table_.TakeNext()->peer, "honest:1");
  SweepAt(1);  // the flood's have gone
  EXPECT_EQ(table_.AddWaiting(9, "honest:2"), std::nullopt);
  EXPECT_EQ(table_.TakeNext()->peer, "flood:3") << "it came first, and holds no more places";
}

TEST_F(ConnectionTableTest, TheLastPlaceIsForWhoHasNone) {
  ConnectionTable table({.limit = 8});
  for (int fd = 10; fd < 17; ++fd) table.AddHandedOver(fd, fd, "flood:" + std::to_string(fd), At(0));
  EXPECT_EQ(table.AddWaiting(20, "flood:1"), std::nullopt);
  EXPECT_EQ(table.TakeNext(), std::nullopt);
  EXPECT_TRUE(table.IsFull());
  EXPECT_EQ(table.AddWaiting(21, "honest:1"), std::nullopt);
  EXPECT_EQ(table.TakeNext()->peer, "honest:1");
  table.AddHandedOver(21, 21, "honest:1", At(0));
  EXPECT_EQ(table.TakeNext(), std::nullopt);
  table.NoteCall("honest:1");
  table.NoteCall("flood:10");
  EXPECT_EQ(table.TakeNext()->peer, "flood:1");
}

TEST_F(ConnectionTableTest, TheOldestSilentOneMakesRoom) {
  ConnectionTable table({.most_silent = 2});
  EXPECT_EQ(table.AddSilent(5, "a:1", At(1)), std::nullopt);
  EXPECT_EQ(table.AddSilent(6, "b:1", At(0)), std::nullopt);
  const auto gone = table.AddSilent(7, "c:1", At(2));
  ASSERT_TRUE(gone.has_value());
  EXPECT_EQ(gone->fd, 6);
  EXPECT_EQ(gone->age, absl::Seconds(2));
  EXPECT_EQ(table.TakeSilent(6), std::nullopt);
  EXPECT_THAT(table.TakeAllOwn(), ElementsAre(5, 7));
  EXPECT_TRUE(table.empty());
}

TEST_F(ConnectionTableTest, ASilentOneIsTakenOnce) {
  table_.AddSilent(5, "a:1", At(0));
  EXPECT_EQ(table_.TakeSilent(5), "a:1");
  EXPECT_EQ(table_.TakeSilent(5), std::nullopt);
  EXPECT_TRUE(table_.empty());
}

TEST_F(ConnectionTableTest, SilenceHasALimit) {
  table_.AddSilent(5, "a:1", At(0));
  table_.AddSilent(6, "b:1", At(4));
  EXPECT_THAT(table_.TakeOverdue(At(9.9), false), IsEmpty());
  const auto overdue = table_.TakeOverdue(At(10), false);
  ASSERT_EQ(overdue.size(), 1u);
  EXPECT_EQ(overdue[0].fd, 5);
  EXPECT_EQ(overdue[0].peer, "a:1");
  EXPECT_EQ(overdue[0].age, absl::Seconds(10));
}

TEST_F(ConnectionTableTest, WhileDescriptorsAreScarceTheLimitIsShorter) {
  for (int fd : {5, 6, 7}) table_.AddSilent(fd, "x:" + std::to_string(fd), At(fd == 7 ? 2 : 0));
  EXPECT_THAT(table_.TakeOverdue(At(2.9), true), IsEmpty());
  EXPECT_EQ(table_.TakeOverdue(At(3), true).size(), 2u);
  EXPECT_THAT(table_.TakeOverdue(At(6), false), IsEmpty()) << "with room the long limit holds again";
}

TEST_F(ConnectionTableTest, ASweepFindsWhatHasGoneByItsInode) {
  inodes_ = {{5, 50}, {6, 61}};
  table_.AddHandedOver(5, 50, "stays:1", At(0));
  table_.AddHandedOver(6, 60, "replaced:1", At(0));  // the number now belongs to another socket
  table_.AddHandedOver(7, 70, "closed:1", At(0));
  ConnectionTable::Swept swept = SweepAt(1);
  EXPECT_THAT(swept.closed, ::testing::UnorderedElementsAre("replaced:1", "closed:1"));
  EXPECT_THAT(Names(swept.mute), IsEmpty());
  EXPECT_EQ(table_.size(), 1u);
}

TEST_F(ConnectionTableTest, OneThatMakesNoCallStopsCounting) {
  inodes_ = {{5, 50}};
  table_.AddHandedOver(5, 50, "mute:1", At(0));
  EXPECT_THAT(Names(SweepAt(10.9).mute), IsEmpty());
  EXPECT_THAT(Names(SweepAt(11).mute), ElementsAre("mute:1"));
  EXPECT_TRUE(table_.empty());
}

TEST_F(ConnectionTableTest, WhereInodesCantBeToldOnlyAgeEndsIt) {
  table_.AddHandedOver(5, std::nullopt, "a:1", At(0));
  EXPECT_THAT(SweepAt(10.9).closed, IsEmpty());
  EXPECT_EQ(table_.size(), 1u);
  EXPECT_THAT(Names(SweepAt(11).mute), ElementsAre("a:1"));
}

TEST_F(ConnectionTableTest, TheSamePeerAgainReplacesItsOldConnection) {
  inodes_ = {{5, 50}, {6, 60}};
  table_.AddHandedOver(5, 50, "a:1", At(0));
  table_.AddHandedOver(6, 60, "a:1", At(20));
  EXPECT_EQ(table_.size(), 1u);
  EXPECT_THAT(Names(SweepAt(21).mute), IsEmpty());
}

}  // namespace
}  // namespace muster::scheduler
