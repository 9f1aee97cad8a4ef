#include "worker_agent/keeper/process/children.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <vector>

#include "support.h"

namespace muster::agent {
namespace {

using ::testing::IsEmpty;
using ::testing::UnorderedElementsAre;

pid_t ForkSleeper() {
  const pid_t pid = ::fork();
  while (pid == 0) ::pause();
  return pid;
}

// Runs with the kernel's list of children, and with a search through /proc, as on a kernel without the list.
class ChildrenTest : public ::testing::TestWithParam<bool> {
 protected:
  static std::vector<pid_t> Seen(Children& children) {
    std::vector<pid_t> seen;
    EXPECT_TRUE(children.ForEach([&](pid_t pid) { seen.push_back(pid); }));
    return seen;
  }

  Children children_ = Children::OfThisProcess(GetParam());
};

TEST_P(ChildrenTest, SeesLivingAndDeadOnesUntilTheyAreReaped) {
  EXPECT_TRUE(children_.CanLook());
  EXPECT_THAT(Seen(children_), IsEmpty());
  const pid_t one = ForkSleeper();
  const pid_t two = ForkSleeper();
  EXPECT_THAT(Seen(children_), UnorderedElementsAre(one, two));
  EXPECT_TRUE(children_.Kill([&](pid_t pid) { return pid == two; }));
  siginfo_t info{};
  ASSERT_EQ(::waitid(P_PID, static_cast<id_t>(one), &info, WEXITED | WNOWAIT), 0);
  EXPECT_THAT(Seen(children_), UnorderedElementsAre(one, two));
  ::waitpid(one, nullptr, 0);
  EXPECT_THAT(Seen(children_), UnorderedElementsAre(two));
  EXPECT_TRUE(children_.Kill([](pid_t) { return false; }));
  ::waitpid(two, nullptr, 0);
  EXPECT_THAT(Seen(children_), IsEmpty());
}

TEST_P(ChildrenTest, LooksAlsoWhenNoDescriptorIsLeft) {
  Children& children = children_;  // a sanitizer's first look at this object takes a descriptor
  const pid_t child = ForkSleeper();
  rlimit before{};
  ::getrlimit(RLIMIT_NOFILE, &before);
  const int lowest = ::dup(0);
  ::close(lowest);
  std::vector<UniqueFd> all;
  const rlimit few{static_cast<rlim_t>(lowest) + 8, before.rlim_max};
  ::setrlimit(RLIMIT_NOFILE, &few);
  for (int fd = ::dup(0); fd >= 0; fd = ::dup(0)) all.emplace_back(fd);
  std::vector<pid_t> seen;
  const bool has_looked = children.ForEach([&](pid_t pid) { seen.push_back(pid); });
  all.clear();
  ::setrlimit(RLIMIT_NOFILE, &before);
  EXPECT_TRUE(has_looked);
  EXPECT_THAT(seen, UnorderedElementsAre(child));
  ::kill(child, SIGKILL);
  ::waitpid(child, nullptr, 0);
}

TEST_P(ChildrenTest, ManyOfThem) {
  std::vector<pid_t> forked;
  for (int i = 0; i < 1500; ++i) forked.push_back(ForkSleeper());
  EXPECT_THAT(Seen(children_), ::testing::UnorderedElementsAreArray(forked));
  EXPECT_TRUE(children_.Kill([](pid_t) { return false; }));
  for (const pid_t pid : forked) ::waitpid(pid, nullptr, 0);
}

INSTANTIATE_TEST_SUITE_P(ListOrSearch, ChildrenTest, ::testing::Bool());

// "Can't look" must never be taken for "there is none".
TEST(ChildrenTest, ThatCantLookSaysSoAndLooksOnceItCan) {
  rlimit before{};
  ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &before), 0);
  const rlimit none{0, before.rlim_max};
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &none), 0);
  Children children = Children::OfThisProcess();
  const bool can_look = children.CanLook();
  const bool has_looked = children.ForEach([](pid_t) {});
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &before), 0);
  EXPECT_FALSE(can_look);
  EXPECT_FALSE(has_looked);
  EXPECT_TRUE(children.ForEach([](pid_t) {}));
}

}  // namespace
}  // namespace muster::agent
