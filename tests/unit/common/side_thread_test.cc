#include <gtest/gtest.h>

#include "common/base/clock.h"
#include "common/base/mutex.h"
#include "common/sys/threads.h"

namespace muster {
namespace {

constexpr absl::Duration kPlenty = absl::Seconds(20);

// Blocks the work until the test releases it.
class Latch {
 public:
  void Await() {
    MutexLock lock(mutex_);
    while (!is_open_) opened_.Wait(mutex_);
  }
  void Open() {
    MutexLock lock(mutex_);
    is_open_ = true;
    opened_.NotifyAll();
  }

 private:
  Mutex mutex_;
  CondVar opened_;
  bool is_open_ ABSL_GUARDED_BY(mutex_) = false;
};

TEST(SideThread, RunsWorkAndWaitsForItsEnd) {
  const std::shared_ptr<SideThread> side = *SideThread::Make("side");
  auto sum = std::make_shared<int>(0);
  for (int i = 1; i <= 100; ++i) {
    ASSERT_TRUE(side->Run([sum, i] { *sum += i; }, kPlenty));
  }
  EXPECT_EQ(*sum, 5050);
}

TEST(SideThread, HangingWorkIsNotWaitedFor) {
  auto latch = std::make_shared<Latch>();
  auto done = std::make_shared<Latch>();
  {
    const std::shared_ptr<SideThread> side = *SideThread::Make("side");
    EXPECT_FALSE(side->Run([latch, done] { latch->Await(), done->Open(); }, absl::Milliseconds(20)));
    const MonotonicTime begin = Clock::System().Read().monotonic;
    EXPECT_FALSE(side->Run([] { ADD_FAILURE() << "the thread is not free"; }, kPlenty)) << "at once";
    EXPECT_LT(Clock::System().Read().monotonic - begin, absl::Seconds(10));
  }  // its owner's end does not wait for the work, either
  latch->Open();
  done->Await();
}

TEST(SideThread, IsOfUseAgainWhenTheWorkHasEnded) {
  auto latch = std::make_shared<Latch>();
  const std::shared_ptr<SideThread> side = *SideThread::Make("side");
  EXPECT_FALSE(side->Run([latch] { latch->Await(); }, absl::Milliseconds(20)));
  latch->Open();
  const MonotonicTime end = Clock::System().Read().monotonic + kPlenty;
  bool has_run = false;
  while (!has_run && Clock::System().Read().monotonic < end) has_run = side->Run([] {}, kPlenty);
  EXPECT_TRUE(has_run);
}

TEST(SideThread, GivingUpEndsTheWait) {
  auto latch = std::make_shared<Latch>();
  const std::shared_ptr<SideThread> side = *SideThread::Make("side");
  const std::shared_ptr<SideThread> other = *SideThread::Make("other");
  auto begun = std::make_shared<Latch>();
  ASSERT_FALSE(other->Run([begun, &side] { begun->Await(), side->GiveUp(); }, absl::ZeroDuration()));
  EXPECT_FALSE(side->Run([latch, begun] { begun->Open(), latch->Await(); }, absl::InfiniteDuration()));
  EXPECT_FALSE(side->Run([] {}, kPlenty)) << "for good";
  latch->Open();
  const MonotonicTime end = Clock::System().Read().monotonic + kPlenty;
  while (!other->Run([] {}, kPlenty) && Clock::System().Read().monotonic < end) {
  }
}

}  // namespace
}  // namespace muster
