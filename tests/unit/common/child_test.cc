// Programs that are run until their end.
#include "common/sys/child/child.h"

#include <fcntl.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <limits>
#include <string>

#include "common/sys/child/bounded_command.h"
#include "common/sys/wait.h"

namespace muster {
namespace {

constexpr absl::Duration kLong = absl::Seconds(30);

ChildOptions Shell(const std::string& script) {
  ChildOptions options;
  options.argv = {"/bin/sh", "-c", script};
  options.env = {"PATH=/usr/bin:/bin"};
  return options;
}

pid_t Started(const ChildOptions& options) {
  pid_t pid = 0;
  EXPECT_EQ(StartChild(options, pid), 0);
  return pid;
}

TEST(Child, ItsEndIsSeenAndReapedOnce) {
  const pid_t pid = Started(Shell("exit 3"));
  EXPECT_EQ(AwaitChild(pid, kLong), ChildState::kEnded);
  EXPECT_EQ(AwaitChild(pid), ChildState::kEnded) << "it is not reaped";
  EXPECT_EQ(ReapChild(pid), (ExitStatus{.code = 3}));
  EXPECT_EQ(AwaitChild(pid), ChildState::kUnknown);
  EXPECT_EQ(ReapChild(pid), std::nullopt);
}

TEST(Child, OneThatRunsIsAwaitedNoLongerThanThat) {
  const pid_t pid = Started(Shell("exec sleep 1000"));
  EXPECT_EQ(AwaitChild(pid), ChildState::kRuns);
  EXPECT_EQ(AwaitChild(pid, absl::Milliseconds(20)), ChildState::kRuns);
  const UniqueFd watch = WatchChild(pid);
  EXPECT_EQ(LookAt(watch.get(), POLLIN), 0);
  kill(-pid, SIGKILL);  // the child has a process group of its own
  EXPECT_EQ(AwaitChild(pid, kLong), ChildState::kEnded);
  EXPECT_NE(LookAt(watch.get(), POLLIN), 0);
  EXPECT_EQ(ReapChild(pid), (ExitStatus{.signal = SIGKILL}));
}

TEST(Child, AProgramThatIsMissingIsAnError) {
  ChildOptions options;
  options.argv = {"/nowhere/program"};
  pid_t pid = 0;
  EXPECT_EQ(StartChild(options, pid), ENOENT);
}

TEST(Child, HasTheDescriptorsThatWereNamedAndNoOthers) {
  std::array<int, 2> output{};
  std::array<int, 2> third{};
  ASSERT_EQ(pipe(output.data()), 0);  // without O_CLOEXEC, so that a child could inherit them
  ASSERT_EQ(pipe(third.data()), 0);
  ChildOptions options = Shell("cat; echo three >&3; ls /proc/self/fd | wc -l");
  options.out = output[1];
  options.third = third[1];
  const pid_t pid = Started(options);
  EXPECT_EQ(AwaitChild(pid, kLong), ChildState::kEnded);
  EXPECT_EQ(ReapChild(pid), ExitStatus{});
  char text[64] = {};
  EXPECT_EQ(read(third[0], text, sizeof text), 6);
  EXPECT_EQ(std::string(text), "three\n");
  std::fill_n(text, sizeof text, '\0');
  EXPECT_GT(read(output[0], text, sizeof text), 0);
  EXPECT_EQ(std::string(text), "5\n") << "0 to 3, and that of ls";
  for (const int fd : {output[0], output[1], third[0], third[1]}) close(fd);
}

TEST(Child, HearsSignalsThatThisProcessIgnores) {
  const auto before = signal(SIGTERM, SIG_IGN);
  const pid_t pid = Started(Shell("kill -TERM $$; exit 1"));
  signal(SIGTERM, before);
  EXPECT_EQ(AwaitChild(pid, kLong), ChildState::kEnded);
  EXPECT_EQ(ReapChild(pid), (ExitStatus{.signal = SIGTERM}));
}

CommandResult RunScript(const std::string& script, absl::Duration patience = kLong, int cancel_fd = -1) {
  const ChildOptions shell = Shell(script);
  const MonotonicTime deadline = Clock::System().Read().monotonic + patience;
  return RunBounded({shell.argv, shell.env, 8, deadline, cancel_fd}, Clock::System());
}

TEST(BoundedCommand, GivesTheBeginningOfItsOutputAndItsCode) {
  const CommandResult result = RunScript("echo 0123456789; echo no >&2; exit 4");
  EXPECT_EQ(result.end, CommandResult::End::kExited);
  EXPECT_EQ(result.code, 4);
  EXPECT_EQ(result.output, "01234567");
  EXPECT_EQ(result.errors, "no\n");
}

TEST(BoundedCommand, MayKeepTheEndOfStdoutAndStderrTogether) {
  BoundedCommand command{Shell("echo 0123456789; echo no >&2").argv, {}, 8, Clock::System().Read().monotonic + kLong};
  command.keeps_end = command.joins_errors = true;
  const CommandResult result = RunBounded(command, Clock::System());
  EXPECT_EQ(result.output, "6789\nno\n");
  EXPECT_EQ(result.errors, "");
}

TEST(BoundedCommand, IsKilledAtItsDeadlineWithItsGroup) {
  const CommandResult result = RunScript("sleep 1000 & sleep 1000", absl::Milliseconds(50));
  EXPECT_EQ(result.end, CommandResult::End::kTimedOut);
  EXPECT_EQ(RunScript("kill -KILL $$").end, CommandResult::End::kSignaled);
}

TEST(BoundedCommand, IsKilledWhenItIsCancelled) {
  std::array<int, 2> cancel{};
  ASSERT_EQ(pipe2(cancel.data(), O_CLOEXEC), 0);
  ASSERT_EQ(write(cancel[1], "x", 1), 1);
  EXPECT_EQ(RunScript("sleep 1000", kLong, cancel[0]).end, CommandResult::End::kCancelled);
  for (const int fd : cancel) close(fd);
}

TEST(Wait, IsRoundedUpAndBounded) {
  EXPECT_EQ(PollMs(absl::InfiniteDuration()), -1);
  EXPECT_EQ(PollMs(absl::Microseconds(1)), 1);
  EXPECT_EQ(PollMs(absl::ZeroDuration()), 0);
  EXPECT_EQ(PollMs(absl::Seconds(-5)), 0);
  EXPECT_EQ(PollMs(absl::Hours(1'000'000)), std::numeric_limits<int>::max());
  EXPECT_EQ(WaitFor(-1, POLLIN, absl::Milliseconds(1)), 0);
}

}  // namespace
}  // namespace muster
