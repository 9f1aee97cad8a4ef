#include "common/net/poller.h"

#include <fcntl.h>
#include <sys/resource.h>
#include <unistd.h>

#include <array>
#include <csignal>
#include <thread>
#include <vector>

#include "common/base/clock.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace muster {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

struct TestPipe {
  UniqueFd out, in;
  TestPipe() {
    std::array<int, 2> ends{};
    EXPECT_EQ(pipe2(ends.data(), O_CLOEXEC | O_NONBLOCK), 0);
    out.reset(ends[0]);
    in.reset(ends[1]);
  }
  void Write() const { EXPECT_EQ(write(in.get(), "x", 1), 1); }
  void Read() const {
    char byte = 0;
    EXPECT_EQ(read(out.get(), &byte, 1), 1);
  }
};

std::vector<uint64_t> Keys(std::span<const epoll_event> events) {
  std::vector<uint64_t> keys;
  for (const epoll_event& event : events)
    keys.push_back(uint64_t{event.data.u64});  // epoll_event is packed, so it allows no reference to it
  return keys;
}

TEST(Poller, TellsWhatIsReadyByItsKey) {
  Poller poller;
  ASSERT_TRUE(poller.status().ok());
  const TestPipe first, second;
  ASSERT_TRUE(poller.Add(first.out.get(), EPOLLIN, 0).ok());
  ASSERT_TRUE(poller.Add(second.out.get(), EPOLLIN, uint64_t{1} << 63).ok());
  EXPECT_THAT(Keys(poller.Wait(absl::ZeroDuration())), IsEmpty());
  first.Write();
  EXPECT_THAT(Keys(poller.Wait()), ElementsAre(0));
  second.Write();
  EXPECT_THAT(Keys(poller.Wait()), testing::UnorderedElementsAre(0, uint64_t{1} << 63));
}

TEST(Poller, ModifiesAndRemoves) {
  Poller poller;
  const TestPipe pipe;
  ASSERT_TRUE(poller.Add(pipe.out.get(), 0, 1).ok());
  pipe.Write();
  EXPECT_THAT(Keys(poller.Wait(absl::ZeroDuration())), IsEmpty());
  ASSERT_TRUE(poller.Modify(pipe.out.get(), EPOLLIN, 2).ok());
  EXPECT_THAT(Keys(poller.Wait()), ElementsAre(2));
  poller.Remove(pipe.out.get());
  poller.Remove(pipe.out.get());
  EXPECT_THAT(Keys(poller.Wait(absl::ZeroDuration())), IsEmpty());
}

TEST(Poller, AnEdgeIsReportedOnce) {
  Poller poller;
  const TestPipe pipe;
  ASSERT_TRUE(poller.Add(pipe.out.get(), EPOLLIN | EPOLLET, 7).ok());
  pipe.Write();
  EXPECT_THAT(Keys(poller.Wait()), ElementsAre(7));
  EXPECT_THAT(Keys(poller.Wait(absl::ZeroDuration())), IsEmpty());
}

TEST(Poller, GivesAtMostItsBatch) {
  Poller poller(2);
  const std::array<TestPipe, 3> pipes;
  for (const TestPipe& pipe : pipes) {
    ASSERT_TRUE(poller.Add(pipe.out.get(), EPOLLIN, 1).ok());
    pipe.Write();
  }
  EXPECT_EQ(poller.Wait().size(), 2u);
}

TEST(Poller, IsWokenWithoutAnEvent) {
  Poller poller;
  poller.Wake();
  poller.Wake();
  EXPECT_THAT(Keys(poller.Wait()), IsEmpty());
  // A wake-up lasts for one wait only, and ready descriptors come in order next to the waker.
  const TestPipe pipe, other;
  ASSERT_TRUE(poller.Add(pipe.out.get(), EPOLLIN, 1).ok());
  ASSERT_TRUE(poller.Add(other.out.get(), EPOLLIN, 2).ok());
  EXPECT_THAT(Keys(poller.Wait(absl::ZeroDuration())), IsEmpty());
  pipe.Write();
  poller.Wake();
  other.Write();
  EXPECT_THAT(Keys(poller.Wait()), ElementsAre(1, 2));
}

TEST(Poller, IsWokenFromAnotherThread) {
  Poller poller;
  std::thread other([&] { poller.Wake(); });
  EXPECT_THAT(Keys(poller.Wait()), IsEmpty());
  other.join();
}

TEST(Poller, WaitsNoShorterThanItIsTold) {
  Poller poller;
  const MonotonicTime begin = Clock::System().Read().monotonic;
  EXPECT_THAT(Keys(poller.Wait(absl::Microseconds(1200))), IsEmpty());
  EXPECT_GE(Clock::System().Read().monotonic - begin, absl::Microseconds(1200));
  EXPECT_THAT(Keys(poller.Wait(-absl::InfiniteDuration())), IsEmpty());
}

TEST(Poller, ASignalEndsTheWaitWithoutAnEvent) {
  struct sigaction action {};
  action.sa_handler = [](int) {};
  struct sigaction before {};
  ASSERT_EQ(sigaction(SIGUSR1, &action, &before), 0);
  timer_t timer{};
  sigevent event{};
  event.sigev_notify = SIGEV_SIGNAL;
  event.sigev_signo = SIGUSR1;
  ASSERT_EQ(timer_create(CLOCK_MONOTONIC, &event, &timer), 0);
  // Repeats, so that an expiry that comes too early does no harm.
  const itimerspec soon{{0, 5'000'000}, {0, 5'000'000}};
  ASSERT_EQ(timer_settime(timer, 0, &soon, nullptr), 0);
  Poller poller;
  EXPECT_THAT(Keys(poller.Wait()), IsEmpty());
  timer_delete(timer);
  sigaction(SIGUSR1, &before, nullptr);
}

TEST(Poller, ErrorsNameTheDescriptor) {
  Poller poller;
  const UniqueFd file(open("/proc/self/exe", O_RDONLY | O_CLOEXEC));
  const absl::Status unwatchable = poller.Add(file.get(), EPOLLIN, 1);
  EXPECT_EQ(unwatchable.code(), absl::StatusCode::kPermissionDenied);
  EXPECT_THAT(std::string(unwatchable.message()), HasSubstr("descriptor " + std::to_string(file.get())));
  const TestPipe pipe;
  EXPECT_EQ(poller.Modify(pipe.out.get(), EPOLLIN, 1).code(), absl::StatusCode::kNotFound);
  ASSERT_TRUE(poller.Add(pipe.out.get(), EPOLLIN, 1).ok());
  EXPECT_EQ(poller.Add(pipe.out.get(), EPOLLIN, 2).code(), absl::StatusCode::kAlreadyExists);
}

TEST(Poller, SaysThatThereAreNoDescriptors) {
  rlimit before{};
  ASSERT_EQ(getrlimit(RLIMIT_NOFILE, &before), 0);
  const rlimit none{0, before.rlim_max};
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &none), 0);
  const Poller poller;
  setrlimit(RLIMIT_NOFILE, &before);
  EXPECT_EQ(poller.status().code(), absl::StatusCode::kResourceExhausted);
  EXPECT_THAT(std::string(poller.status().message()), HasSubstr("ulimit -n"));
}

}  // namespace
}  // namespace muster
