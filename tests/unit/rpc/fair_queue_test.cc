#include "scheduler/ingress/fair_queue.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"

namespace muster::scheduler {
namespace {

using ::testing::ElementsAre;

class FairQueueTest : public ::testing::Test {
 protected:
  // Adds a connection of `peer`. Returns the peer whose connection had to make room; empty if none had to.
  std::string Add(const std::string& peer) {
    const auto gone = queue_.Add({++last_fd_, peer});
    return gone.has_value() ? gone->peer : "";
  }
  // Takes one, which then counts as in progress.
  std::string Begin() {
    const auto next = queue_.Take();
    if (!next.has_value()) return "";
    queue_.NoteUnderWay(next->peer);
    return next->peer;
  }

  FairQueue queue_{4};
  int last_fd_ = 0;
};

TEST_F(FairQueueTest, OfOneAddressTheFirstComesFirst) {
  for (const char* peer : {"a:1", "a:2", "a:3"}) EXPECT_EQ(Add(peer), "");
  EXPECT_THAT((std::vector<std::string>{Begin(), Begin(), Begin(), Begin()}), ElementsAre("a:1", "a:2", "a:3", ""));
  EXPECT_TRUE(queue_.empty());
}

TEST_F(FairQueueTest, TheClientWithFewestUnderWayComesNext) {
  for (const char* peer : {"a:1", "a:2", "a:3", "b:1"}) EXPECT_EQ(Add(peer), "");
  EXPECT_EQ(Begin(), "a:1");
  EXPECT_EQ(Begin(), "b:1");
  EXPECT_EQ(Add("[::1]:5"), "");
  EXPECT_EQ(Begin(), "[::1]:5");
  EXPECT_EQ(Begin(), "a:2");
  EXPECT_EQ(Add("b:2"), "");
  queue_.NoteOver("b:1");
  EXPECT_EQ(Begin(), "b:2") << "a came earlier, but holds two places";
  queue_.NoteOver("a:1");
  queue_.NoteOver("a:2");
  EXPECT_EQ(Begin(), "a:3");
}

TEST_F(FairQueueTest, WhenItIsFullTheLongestLineLosesItsLast) {
  for (const char* peer : {"a:1", "a:2", "a:3", "b:1"}) EXPECT_EQ(Add(peer), "");
  EXPECT_EQ(Add("b:2"), "a:3");
  EXPECT_EQ(queue_.size(), 4u);
  EXPECT_EQ(Begin(), "a:1");
  EXPECT_EQ(Begin(), "b:1");
  EXPECT_EQ(Begin(), "a:2");
  EXPECT_EQ(Begin(), "b:2");
}

TEST_F(FairQueueTest, AFloodCrowdsOutItselfOnly) {
  for (const char* peer : {"b:1", "c:1"}) EXPECT_EQ(Add(peer), "");
  for (int port = 1; port <= 1'000; ++port) {
    const std::string gone = Add(absl::StrCat("flood:", port));
    EXPECT_EQ(gone, port <= 2 ? "" : absl::StrCat("flood:", port));
  }
  std::vector<std::string> order;
  for (const auto& waiting : queue_.TakeAll()) order.push_back(waiting.peer);
  EXPECT_THAT(order, ElementsAre("b:1", "c:1", "flood:1", "flood:2"));
  EXPECT_TRUE(queue_.empty());
}

TEST_F(FairQueueTest, AnEndWithoutBeginningIsIgnored) {
  queue_.NoteOver("a:1");
  EXPECT_EQ(Add("a:1"), "");
  queue_.NoteOver("a:1");
  EXPECT_EQ(Begin(), "a:1");
}

}  // namespace
}  // namespace muster::scheduler
