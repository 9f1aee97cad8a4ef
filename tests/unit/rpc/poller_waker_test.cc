#include "scheduler/ingress/grpc/poller_waker.h"

#include <gtest/gtest.h>

#include <chrono>
#include <thread>

#include "tests/unit/common/times.h"

namespace muster::scheduler {
namespace {

TEST(PollerWaker, EachCallIsAnEventForOneOfGrpcsThreads) {
  PollerWaker waker;
  EXPECT_EQ(waker.woken(), 0u);
  for (uint64_t count = 1; count <= 3; ++count) {
    waker.Wake();
    const auto end = std::chrono::steady_clock::now() + kPatience;
    while (waker.woken() < count && std::chrono::steady_clock::now() < end) std::this_thread::yield();
    ASSERT_EQ(waker.woken(), count) << "a call on a channel that leads nowhere was not answered";
  }
}

TEST(PollerWaker, MayGoWhileACallIsUnderWay) {
  for (int i = 0; i < 100; ++i) PollerWaker().Wake();
}

}  // namespace
}  // namespace muster::scheduler
