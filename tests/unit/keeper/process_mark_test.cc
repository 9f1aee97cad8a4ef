#include "worker_agent/keeper/process_mark.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <functional>
#include <limits>
#include <string>

#include "support.h"

namespace muster::agent {
namespace {

constexpr uid_t kNobody = 65534;

ProcessMark NewMark() { return ProcessMark::Make().value(); }

// Returns the result of `test` in a child process, so that the limits that it sets stay there.
bool HoldsInAChild(const std::function<bool()>& test) {
  const pid_t child = ::fork();
  if (child == 0) ::_exit(test() ? 0 : 1);
  int status = 0;
  ::waitpid(child, &status, 0);
  return status == 0;
}

TEST(ProcessMark, MakingOneChangesNothing) {
  rlimit before{}, after{};
  ASSERT_EQ(::getrlimit(RLIMIT_RTTIME, &before), 0);
  const ProcessMark one = NewMark(), other = NewMark();
  ASSERT_EQ(::getrlimit(RLIMIT_RTTIME, &after), 0);
  EXPECT_EQ(before.rlim_cur, after.rlim_cur);
  EXPECT_EQ(before.rlim_max, after.rlim_max);
  EXPECT_GE(one.value(), uint64_t{1} << 62);
  EXPECT_LT(one.value(), uint64_t{1} << 63) << "tools that read a signed number show it";
  EXPECT_FALSE(one.Covers(other.value()));
  EXPECT_FALSE(one.Covers(std::numeric_limits<uint64_t>::max()));
  EXPECT_EQ(ProcessMark::Of(one.value())->value(), one.value());
  EXPECT_FALSE(ProcessMark::Of(1000).has_value());
}

TEST(ProcessMark, StaysWithWhatClearsItsEnvironmentAndSession) {
  TempFolder folder;
  Fifo fifo(folder.Path("fifo"));
  const ProcessMark mark = NewMark();
  const std::string script = "echo $$ > " + fifo.path() + "; exec sleep 1000";
  const pid_t child = ::fork();
  if (child == 0) {
    if (mark.Set().ok()) ::execl("/usr/bin/env", "env", "-i", "setsid", "-f", "sh", "-c", script.c_str(), nullptr);
    ::_exit(1);
  }
  ::waitpid(child, nullptr, 0);
  const pid_t left = std::stoi(fifo.ReadLine());
  const absl::StatusOr<uint64_t> limit = RealTimeLimitOf(left);
  ASSERT_TRUE(limit.ok()) << limit.status();
  EXPECT_TRUE(mark.Covers(*limit));
  EXPECT_FALSE(NewMark().Covers(*limit));
  ::kill(left, SIGKILL);
}

TEST(ProcessMark, AnUnprivilegedProcessCannotTakeItOff) {
  if (::geteuid() != 0) GTEST_SKIP() << "only root can act as another user";
  const ProcessMark mark = NewMark();
  EXPECT_TRUE(HoldsInAChild([&] {
    const rlimit none{RLIM_INFINITY, RLIM_INFINITY};
    return mark.Set().ok() && ::setresuid(kNobody, kNobody, kNobody) == 0 && ::setrlimit(RLIMIT_RTTIME, &none) != 0;
  }));
}

// A training process may start an agent itself.
TEST(ProcessMark, ANestedStartHasOneOfItsOwnAndKeepsTheOuterOne) {
  const ProcessMark outer = NewMark();
  EXPECT_TRUE(HoldsInAChild([&] {
    if (!outer.Set().ok()) return false;
    const ProcessMark inner = NewMark(), sibling = NewMark();
    if (!outer.Covers(inner.value()) || inner.Covers(outer.value()) || inner.Covers(sibling.value())) return false;
    return inner.Set().ok() && !ProcessMark::Make().ok();  // there is no room for a third level
  }));
}

TEST(ProcessMark, AUsersOwnLimitIsNotTakenForOne) {
  EXPECT_TRUE(HoldsInAChild([] {
    const rlimit limit{1'000'000, 2'000'000};
    if (::setrlimit(RLIMIT_RTTIME, &limit) != 0) return false;
    const std::string why(ProcessMark::Make().status().message());
    return why.find("2000000") != std::string::npos && RealTimeLimitOf(::getpid()).value() == 2'000'000;
  }));
}

TEST(ProcessMark, OfAProcessThatIsGoneThereIsNone) {
  const pid_t child = ::fork();
  if (child == 0) ::_exit(0);
  ::waitpid(child, nullptr, 0);
  EXPECT_TRUE(absl::IsNotFound(RealTimeLimitOf(child).status()));
}

}  // namespace
}  // namespace muster::agent
