#include <gtest/gtest.h>
#include <sys/socket.h>

#include <vector>

#include "common/base/unique_fd.h"
#include "worker_agent/keeper/shim/report.h"

namespace muster::agent {
namespace {

// The kernel reports ECONNRESET before the unread data.
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

// While a shim waits for room, it does not watch the fence.
TEST(ShimReports, WaitForNoRoomUnlessTheyMustArrive) {
  int ends[2];
  ASSERT_EQ(::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends), 0);
  const UniqueFd keepers(ends[0]);
  const UniqueFd shims(ends[1]);
  constexpr int kMore = 2000;  // more than fit
  for (int i = 0; i < kMore; ++i) SendShimReport(shims.get(), MakeShimReport(ShimReport::kCantLook, i, "why"));
  bool is_open = false;
  const std::vector<ShimReport> reports = ReadShimReports(keepers.get(), is_open);
  EXPECT_TRUE(is_open);
  EXPECT_GT(reports.size(), 10U);
  EXPECT_LT(reports.size(), kMore);
}

}  // namespace
}  // namespace muster::agent
