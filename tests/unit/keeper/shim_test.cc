#include "worker_agent/keeper/shim/shim.h"

#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/wait.h>

#include <csignal>

#include "worker_agent/keeper/shim/left_processes.h"

namespace muster::agent {
namespace {

// The kernel tells ECONNRESET before what is still to be read.
TEST(ShimReports, AreReadWhenTheShimEndedWithAnOrderUnread) {
  int ends[2];
  ASSERT_EQ(::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends), 0);
  const UniqueFd keepers(ends[0]);
  UniqueFd shims(ends[1]);
  ShimReport ended;
  ended.kind = ShimReport::kEnded;
  ASSERT_EQ(::send(shims.get(), &ended, sizeof ended, 0), static_cast<ssize_t>(sizeof ended));
  ASSERT_EQ(::send(keepers.get(), "order", 5, 0), 5);
  shims.reset();
  bool is_open = true;
  const std::vector<ShimReport> reports = ReadShimReports(keepers.get(), is_open);
  ASSERT_EQ(reports.size(), 1U);
  EXPECT_EQ(reports[0].kind, ShimReport::kEnded);
  EXPECT_FALSE(is_open);
}

TEST(HasJobFailed, GoesByTheExitAndByItsTime) {
  constexpr int kByOrder[] = {SIGTERM, SIGINT, SIGHUP, SIGPIPE, SIGKILL};
  for (const bool is_early : {true, false}) {
    EXPECT_FALSE(HasJobFailed(W_EXITCODE(0, 0), is_early));
    EXPECT_TRUE(HasJobFailed(W_EXITCODE(1, 0), is_early)) << "a training that finds no module";
    EXPECT_TRUE(HasJobFailed(W_EXITCODE(128, 0), is_early));
    EXPECT_TRUE(HasJobFailed(W_EXITCODE(0, SIGSEGV), is_early));
    EXPECT_TRUE(HasJobFailed(W_EXITCODE(128 + SIGSEGV, 0), is_early));
    for (const int signal : kByOrder) {
      EXPECT_EQ(HasJobFailed(W_EXITCODE(0, signal), is_early), !is_early) << "the script's last act: " << signal;
      EXPECT_EQ(HasJobFailed(W_EXITCODE(128 + signal, 0), is_early), !is_early) << signal;
    }
  }
}

TEST(NamesOf, NamesFiveAndSaysWhere) {
  ProcessInfo process;
  process.name = "python3";
  process.pid = 7;
  LeftProcesses left{{process}, {process}};
  EXPECT_EQ(NamesOf(left), "python3 (7), python3 (7, in a session of its own)");
  left.jobs.resize(5, process);
  left.jobs[0].name = "\x1b[31m\n";
  EXPECT_EQ(NamesOf(left), " (7), python3 (7), python3 (7), python3 (7), python3 (7) and 1 more");
}

}  // namespace
}  // namespace muster::agent
