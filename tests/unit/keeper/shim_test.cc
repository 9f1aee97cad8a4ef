#include "worker_agent/keeper/process/shim.h"

#include <gtest/gtest.h>
#include <sys/socket.h>

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

}  // namespace
}  // namespace muster::agent
