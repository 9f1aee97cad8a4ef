#include "scheduler/loop/event_queue.h"

#include <gtest/gtest.h>

#include <thread>

#include "tests/unit/loop/loop_fakes.h"

namespace muster::scheduler {
namespace {

constexpr absl::Duration kLateAfter = absl::Milliseconds(250);

TEST(EventQueue, NewWorkIsBoundedAndNothingElse) {
  FakeClock clock;
  EventQueue queue(clock, 2, kLateAfter);
  EXPECT_TRUE(queue.Post(JoinRequested{}, nullptr));
  EXPECT_TRUE(queue.Post(QueryReceived{}, nullptr));
  EXPECT_FALSE(queue.Post(JoinRequested{}, nullptr));
  EXPECT_FALSE(queue.Post(QueryReceived{}, nullptr));
  for (int i = 0; i < 10; ++i) EXPECT_TRUE(queue.Post(ReportReceived{}, nullptr));
  EXPECT_TRUE(queue.Post(StopRequested{}, nullptr));
  EXPECT_EQ(queue.Length(), 13u);
  queue.Take(MonotonicTime::Never(), 1);
  EXPECT_TRUE(queue.Post(JoinRequested{}, nullptr)) << "taking one makes room";
}

TEST(EventQueue, TakesInOrderAndAtMostTheLimit) {
  FakeClock clock;
  EventQueue queue(clock, 10, kLateAfter);
  for (uint64_t i = 1; i <= 3; ++i) queue.Post(StreamClosed{i}, nullptr);
  EventQueue::Taken first = queue.Take(MonotonicTime::Never(), 2);
  ASSERT_EQ(first.events.size(), 2u);
  EXPECT_EQ(std::get<StreamClosed>(first.events[0].event).stream, 1u);
  EXPECT_EQ(std::get<StreamClosed>(first.events[1].event).stream, 2u);
  EXPECT_EQ(queue.Take(MonotonicTime::Never(), 2).events.size(), 1u);
}

TEST(EventQueue, ReturnsWithoutEventsAtTheDeadline) {
  FakeClock clock;
  EventQueue queue(clock, 10, kLateAfter);
  EventQueue::Taken taken = queue.Take(clock.Read().monotonic, 2);
  EXPECT_TRUE(taken.events.empty());
  EXPECT_FALSE(taken.is_late);
}

TEST(EventQueue, ASleepWithoutNewsEndsAfterTheLongestTurn) {
  FakeClock clock;
  EventQueue queue(clock, 10, kLateAfter);
  clock.StepAtEachRead(absl::Milliseconds(900));  // the second reading of the clock comes after the end of the sleep
  const EventQueue::Taken taken = queue.Take(MonotonicTime::Never(), 10);
  EXPECT_TRUE(taken.events.empty());
  EXPECT_FALSE(taken.is_closed);
}

TEST(EventQueue, ADeadlineThatIsLongPastMeansLate) {
  FakeClock clock;
  EventQueue queue(clock, 10, kLateAfter);
  const MonotonicTime deadline = clock.Read().monotonic;
  clock.Advance(absl::Milliseconds(250));
  EXPECT_FALSE(queue.Take(deadline, 2).is_late) << "250 ms are not yet late";
  clock.Advance(absl::Milliseconds(251));
  const EventQueue::Taken taken = queue.Take(deadline, 2);
  EXPECT_TRUE(taken.is_late);
  EXPECT_EQ(taken.late_by, absl::Milliseconds(251)) << "the time before the last Take was not lost";
}

TEST(EventQueue, AnEventThatWaitedLongMeansLate) {
  FakeClock clock;
  EventQueue queue(clock, 10, kLateAfter);
  queue.Post(Tick{}, nullptr);
  clock.Advance(absl::Seconds(3));
  queue.Post(Tick{}, nullptr);
  EXPECT_EQ(queue.Take(MonotonicTime::Never(), 10).late_by, absl::Seconds(3));
}

TEST(EventQueue, TheTimeThatWasLostIsReportedOnce) {
  FakeClock clock;
  EventQueue queue(clock, 10, kLateAfter);
  for (int i = 0; i < 3; ++i) queue.Post(Tick{}, nullptr);
  clock.Advance(absl::Seconds(40));
  EXPECT_EQ(queue.Take(MonotonicTime::Never(), 1).late_by, absl::Seconds(40));
  clock.Advance(absl::Milliseconds(5));
  const EventQueue::Taken second = queue.Take(MonotonicTime::Never(), 1);
  EXPECT_TRUE(second.is_late) << "nodes with heartbeats still in the queue must not be lost for that";
  EXPECT_EQ(second.late_by, absl::Milliseconds(5));
}

TEST(EventQueue, ADeadlineInTheFutureIsNoReasonToBeLate) {
  FakeClock clock;
  EventQueue queue(clock, 10, kLateAfter);
  queue.Post(Tick{}, nullptr);
  clock.Advance(absl::Milliseconds(100));
  EXPECT_FALSE(queue.Take(clock.Read().monotonic + absl::Hours(1), 10).is_late);
}

TEST(EventQueue, DurableNewsWakeOnceAndNeverFall) {
  FakeClock clock;
  EventQueue queue(clock, 10, kLateAfter);
  std::thread journal([&] {
    queue.NoteDurable(5);
    queue.NoteDurable(3);
  });
  uint64_t durable = queue.Take(MonotonicTime::Never(), 10).durable;
  journal.join();
  EXPECT_EQ(durable, 5u);
  // No event comes: only the deadline ends the wait.
  EXPECT_EQ(queue.Take(clock.Read().monotonic, 10).durable, 5u);
}

TEST(EventQueue, CloseLetsWhatIsInsideOutAndNothingIn) {
  FakeClock clock;
  EventQueue queue(clock, 10, kLateAfter);
  queue.Post(Tick{}, nullptr);
  queue.Close();
  EXPECT_FALSE(queue.Post(Tick{}, nullptr));
  EventQueue::Taken taken = queue.Take(MonotonicTime::Never(), 10);
  EXPECT_EQ(taken.events.size(), 1u);
  EXPECT_TRUE(taken.is_closed);
}

}  // namespace
}  // namespace muster::scheduler
