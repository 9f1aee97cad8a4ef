#include <gtest/gtest.h>
#include <poll.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <thread>

#include "common/base/exit_codes.h"
#include "common/sys/program.h"
#include "common/sys/room.h"
#include "common/sys/signal_pipe.h"
#include "common/sys/threads.h"

namespace muster {
namespace {

using ::testing::ExitedWithCode;

void Hang() {
  while (true) pause();
}

// Each statement runs in a process of its own.

TEST(Ending, WritesOutAndRunsNothingElse) {
  EXPECT_EXIT(
      {
        std::atexit([] { std::fprintf(stderr, "an atexit handler\n"); });
        dup2(STDERR_FILENO, STDOUT_FILENO);
        std::printf("the last line");
        EndProgram(7);
      },
      ExitedWithCode(7), "^the last line$");
}

TEST(Beginning, EndedChildrenAreNotLostWhereTheParentIgnoredThem) {
  EXPECT_EXIT(
      {
        signal(SIGCHLD, SIG_IGN);
        BeginProgram("ending_test");
        const pid_t child = fork();
        if (child == 0) _exit(5);
        int status = 0;
        _exit(waitpid(child, &status, 0) == child ? WEXITSTATUS(status) : 1);
      },
      ExitedWithCode(5), "");
}

TEST(Ending, HasALastResort) {
  EXPECT_EXIT(
      {
        EndAtTheLatest(absl::Seconds(1), 9);
        Hang();
      },
      ExitedWithCode(9), "the shutdown takes too long");
}

TEST(Ending, TheLastResortCanBeTakenBack) {
  EXPECT_EXIT(
      {
        EndAtTheLatest(absl::Hours(1), 9);
        EndAtTheLatest(absl::InfiniteDuration(), 9);
        _exit(alarm(0) == 0 ? 0 : 1);
      },
      ExitedWithCode(0), "");
}

TEST(Ending, TheFirstSignalStartsTheClockWhateverHangs) {
  EXPECT_EXIT(
      {
        SetSignalPatience(absl::Seconds(1));
        SignalPipe signals;
        signals.Handle({SIGTERM, SIGINT}, /*ends=*/true);
        kill(getpid(), SIGTERM);
        kill(getpid(), SIGINT);
        Hang();  // no one reads the pipe
      },
      ExitedWithCode(kExitSignalBase + SIGTERM), "the shutdown takes too long");
}

TEST(Ending, AnAlarmFromOutsideIsIgnoredUnlessAnEndIsUnderWay) {
  EXPECT_EXIT(
      {
        SetSignalPatience(absl::Hours(1));
        raise(SIGALRM);
        EndAtTheLatest(absl::Hours(1), 9);
        EndAtTheLatest(absl::InfiniteDuration(), 9);
        raise(SIGALRM);
        std::fprintf(stderr, "goes on;");
        EndAtTheLatest(absl::Hours(1), 9);
        raise(SIGALRM);
        _exit(0);
      },
      ExitedWithCode(9), "^goes on;.*the shutdown takes too long");
}

TEST(Ending, ASignalsClockIsNotTakenBack) {
  EXPECT_EXIT(
      {
        SetSignalPatience(absl::Seconds(1));
        NoteEndSignal(SIGTERM);
        EndAtTheLatest(absl::Hours(1), 9);
        EndAtTheLatest(absl::InfiniteDuration(), 9);
        Hang();
      },
      ExitedWithCode(9), "the shutdown takes too long");
}

TEST(Ending, AStderrWithoutReaderBlocksNothing) {
  EXPECT_EXIT(
      {
        int ends[2];
        if (pipe(ends) != 0) _exit(1);
        dup2(ends[1], STDERR_FILENO);
        pollfd writable{};
        writable.fd = STDERR_FILENO;
        writable.events = POLLOUT;
        while (poll(&writable, 1, 0) == 1) {
          if (write(STDERR_FILENO, ".", 1) != 1) _exit(1);
        }
        EndAtTheLatest(absl::Seconds(1), 9);
        Hang();
      },
      ExitedWithCode(9), "");
}

TEST(SignalPipe, PassesOnWhatComesAlsoWhatWasBlocked) {
  EXPECT_EXIT(
      {
        sigset_t all;
        sigfillset(&all);
        sigprocmask(SIG_SETMASK, &all, nullptr);
        SignalPipe signals;
        signals.Handle({SIGUSR1}, /*ends=*/false);
        if (signals.Take().has_value()) _exit(1);
        kill(getpid(), SIGUSR1);
        if (signals.Take() != SIGUSR1) _exit(2);
        signals.LetKill({SIGUSR1});
        kill(getpid(), SIGUSR1);
        _exit(3);
      },
      ::testing::KilledBySignal(SIGUSR1), "");
}

void LimitDescriptors(rlim_t most) {
  const rlimit limit{most, most};
  setrlimit(RLIMIT_NOFILE, &limit);
}

TEST(Room, NamesTheLimitOfDescriptors) {
  EXPECT_EXIT(
      {
        LimitDescriptors(20);
        if (!CheckRoom({.descriptors = 5}).ok()) _exit(1);
        std::fprintf(stderr, "%s", std::string(CheckRoom({.descriptors = 20}).message()).c_str());
        _exit(0);
      },
      ExitedWithCode(0), "needs 20 more file descriptors, and can have 1[0-9] .*RLIMIT_NOFILE \\(ulimit -n\\) is 20");
}

// RLIMIT_NPROC does not apply to root.
void BecomeLimited() {
  if (geteuid() == 0 && setuid(54321) != 0) _exit(1);
  const rlimit limit{0, 0};
  setrlimit(RLIMIT_NPROC, &limit);
}

TEST(Room, NamesTheLimitOfProcesses) {
  EXPECT_EXIT(
      {
        BecomeLimited();
        std::fprintf(stderr, "%s", std::string(CheckRoom({.tasks = 3}).message()).c_str());
        _exit(0);
      },
      ExitedWithCode(0), "needs 3 more threads and processes, and can have 0 .*RLIMIT_NPROC \\(ulimit -u\\) is 0,");
}

TEST(Room, GivesBackWhatItTried) {
  const size_t before = CountThreads();
  EXPECT_TRUE((CheckRoom({.tasks = 20, .descriptors = 20}).ok()));
  EXPECT_EQ(CountThreads(), before);
}

TEST(TryThread, SaysWhichLimitIsReached) {
  EXPECT_EXIT(
      {
        BecomeLimited();
        const absl::StatusOr<std::thread> thread = TryThread([] {});
        std::fprintf(stderr, "%s", std::string(thread.status().message()).c_str());
        _exit(thread.ok() ? 1 : 0);
      },
      ExitedWithCode(0), "no thread can be made .*RLIMIT_NPROC");
}

TEST(TryThread, LeavesSignalsToTheMainThread) {
  bool is_blocked = false;
  absl::StatusOr<std::thread> thread = TryThread([&] {
    sigset_t now;
    pthread_sigmask(SIG_BLOCK, nullptr, &now);
    is_blocked = sigismember(&now, SIGTERM) == 1;
  });
  ASSERT_TRUE(thread.ok()) << thread.status();
  thread->join();
  EXPECT_TRUE(is_blocked);
}

}  // namespace
}  // namespace muster
