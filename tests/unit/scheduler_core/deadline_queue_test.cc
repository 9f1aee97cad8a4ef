#include "scheduler/core/state/deadline_queue.h"

#include <gtest/gtest.h>

#include <map>
#include <random>

#include "tests/unit/scheduler_core/run_builder.h"

namespace muster::scheduler {
namespace {

TEST(DeadlineQueue, EmptyWaitsForNothing) {
  DeadlineQueue queue;
  EXPECT_TRUE(queue.Next().is_never());
  EXPECT_EQ(queue.PopDue(At(1e6)), 0u);
}

TEST(DeadlineQueue, DueInOrderOfTimeThenHandle) {
  DeadlineQueue queue;
  queue.Set(3, At(1));
  queue.Set(2, At(2));
  queue.Set(1, At(1));
  EXPECT_EQ(queue.Next(), At(1));
  EXPECT_EQ(queue.PopDue(At(0.999)), 0u);
  EXPECT_EQ(queue.PopDue(At(5)), 1u);
  EXPECT_EQ(queue.PopDue(At(5)), 3u);
  EXPECT_EQ(queue.PopDue(At(5)), 2u);
  EXPECT_EQ(queue.PopDue(At(5)), 0u);
  EXPECT_TRUE(queue.Next().is_never());
}

TEST(DeadlineQueue, MovedLaterIsNotDueAtItsOldTime) {
  DeadlineQueue queue;
  queue.Set(1, At(1));
  queue.Set(1, At(5));
  EXPECT_LE(queue.Next(), At(5));
  EXPECT_EQ(queue.PopDue(At(4)), 0u);
  EXPECT_EQ(queue.Next(), At(5));
  EXPECT_EQ(queue.PopDue(At(5)), 1u);
  EXPECT_EQ(queue.PopDue(At(9)), 0u);
}

TEST(DeadlineQueue, MovedEarlierIsDueAtOnceAndOnlyOnce) {
  DeadlineQueue queue;
  queue.Set(1, At(5));
  queue.Set(1, At(1));
  EXPECT_EQ(queue.PopDue(At(1)), 1u);
  EXPECT_EQ(queue.PopDue(At(9)), 0u);
}

TEST(DeadlineQueue, TakenOutAndPutInAgain) {
  DeadlineQueue queue;
  queue.Set(1, At(1));
  queue.Set(1, MonotonicTime::Never());
  EXPECT_EQ(queue.PopDue(At(1)), 0u);
  queue.Set(1, At(2));
  queue.Set(1, MonotonicTime::Never());
  queue.Set(1, At(2));
  EXPECT_EQ(queue.PopDue(At(2)), 1u);
  EXPECT_EQ(queue.PopDue(At(2)), 0u);
}

TEST(DeadlineQueue, NeverForWhatIsNotThere) {
  DeadlineQueue queue;
  queue.Set(7, MonotonicTime::Never());
  EXPECT_TRUE(queue.Next().is_never());
}

// Compares it with a plain map, with all the moves that heartbeats, losses and reconnects make.
TEST(DeadlineQueue, AgreesWithAMap) {
  for (unsigned seed = 1; seed <= 200; ++seed) {
    std::mt19937 random(seed);
    DeadlineQueue queue;
    std::map<DeadlineQueue::Handle, MonotonicTime> model;
    double now = 0;
    for (int step = 0; step < 300; ++step) {
      const DeadlineQueue::Handle handle = 1 + random() % 8;
      switch (random() % 4) {
        case 0:
          queue.Set(handle, MonotonicTime::Never());
          model.erase(handle);
          break;
        case 1:
          now += static_cast<double>(random() % 10);
          while (true) {
            DeadlineQueue::Handle expected = 0;
            for (const auto& [h, when] : model) {
              if (when <= At(now) && (expected == 0 || when < model.at(expected))) expected = h;
            }
            ASSERT_EQ(queue.PopDue(At(now)), expected) << "seed " << seed << " step " << step;
            if (expected == 0) break;
            model.erase(expected);
          }
          break;
        default:
          model[handle] = At(now + static_cast<double>(random() % 20));
          queue.Set(handle, model[handle]);
      }
      for (const auto& [h, when] : model) ASSERT_LE(queue.Next(), when) << "too late; seed " << seed;
    }
  }
}

}  // namespace
}  // namespace muster::scheduler
