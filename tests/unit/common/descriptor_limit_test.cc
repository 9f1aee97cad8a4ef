#include <gtest/gtest.h>

#include <algorithm>

#include "common/sys/room.h"

namespace muster {
namespace {

TEST(DescriptorLimit, IsRaisedAndWhatHeldBeforeIsTold) {
  rlimit own{};
  ASSERT_EQ(getrlimit(RLIMIT_NOFILE, &own), 0);
  const rlimit low{64, own.rlim_max};
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &low), 0);
  EXPECT_EQ(DescriptorLimit(), 64u);
  const rlimit before = RaiseDescriptorLimit();
  EXPECT_EQ(before.rlim_cur, 64u);
  EXPECT_EQ(before.rlim_max, own.rlim_max);
  EXPECT_EQ(DescriptorLimit(), std::min<size_t>(own.rlim_max, 1'048'576));
  setrlimit(RLIMIT_NOFILE, &own);
}

}  // namespace
}  // namespace muster
