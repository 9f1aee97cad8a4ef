#include "common/net/mailbox.h"

#include <poll.h>

#include <cstdint>
#include <memory>
#include <thread>

#include "common/net/waker.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace muster {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

bool IsReadable(int fd, int patience_ms = 0) {
  pollfd wait{fd, POLLIN, 0};
  return poll(&wait, 1, patience_ms) == 1;
}

TEST(Mailbox, WakesForTheFirstAndKeepsTheOrder) {
  int wakes = 0;
  Mailbox<int> mailbox([&] { ++wakes; });
  mailbox.Push(1);
  mailbox.Push(2);
  EXPECT_EQ(wakes, 1);
  EXPECT_THAT(mailbox.TakeAll(), ElementsAre(1, 2));
  EXPECT_THAT(mailbox.TakeAll(), IsEmpty());
  mailbox.Push(3);
  EXPECT_EQ(wakes, 2);
  EXPECT_THAT(mailbox.TakeAll(), ElementsAre(3));
}

TEST(Mailbox, NothingIsLostBetweenThreads) {
  const Waker waker;
  ASSERT_TRUE(waker.is_open());
  Mailbox<uint64_t> mailbox([&] { waker.Wake(); });
  EXPECT_FALSE(IsReadable(waker.fd()));
  constexpr uint64_t kCount = 10'000;
  std::thread pusher([&] {
    for (uint64_t number = 1; number <= kCount; ++number) mailbox.Push(number);
  });
  uint64_t expected = 0;
  while (expected < kCount) {
    ASSERT_TRUE(IsReadable(waker.fd(), 10'000));
    waker.Clear();
    for (const uint64_t number : mailbox.TakeAll()) EXPECT_EQ(number, ++expected);
  }
  pusher.join();
}

TEST(Mailbox, DropsWhatComesAfterItWasClosed) {
  int wakes = 0;
  Mailbox<std::shared_ptr<int>> mailbox([&] { ++wakes; });
  const auto before = std::make_shared<int>(1);
  mailbox.Push(before);
  mailbox.Close();
  EXPECT_EQ(before.use_count(), 1);
  mailbox.Push(std::make_shared<int>(2));
  EXPECT_EQ(wakes, 1);
  EXPECT_THAT(mailbox.TakeAll(), IsEmpty());
}

}  // namespace
}  // namespace muster
