// The kind of each failure, and whether it speaks against the node.
#include "common/causes/failure_kind.h"

#include <gtest/gtest.h>

#include <string>

#include "common/base/reason.h"

namespace muster {
namespace {

v1::Cause Cause(absl::string_view reason, v1::Cause::Kind kind = v1::Cause::PROCESS_EXITED) {
  v1::Cause cause;
  cause.set_kind(kind);
  cause.set_reason(std::string(reason));
  return cause;
}

TEST(FailureKind, ReasonsAreSorted) {
  EXPECT_EQ(KindWord(KindOf(Cause(reason::kPythonException))), "script");
  EXPECT_EQ(KindWord(KindOf(Cause(reason::kDamagedFile))), "data");
  EXPECT_EQ(KindWord(KindOf(Cause(reason::kDeviceFault))), "device");
  EXPECT_EQ(KindWord(KindOf(Cause(reason::kNetworkUnreachable))), "network");
  EXPECT_EQ(KindWord(KindOf(Cause(reason::kStorageFault))), "storage");
  EXPECT_EQ(KindWord(KindOf(Cause(reason::kOutOfMemory))), "memory");
  EXPECT_EQ(KindWord(KindOf(Cause(reason::kKilledFromOutside))), "operator");
  EXPECT_EQ(KindWord(KindOf(Cause(reason::kCollectiveTimeout))), "stall");
  EXPECT_EQ(KindWord(KindOf(Cause("", v1::Cause::NO_PROGRESS))), "stall");
  EXPECT_EQ(KindWord(KindOf(Cause("", v1::Cause::STOPPED_BY_USER))), "operator");
  EXPECT_EQ(KindWord(KindOf(Cause(""))), "unknown");
  EXPECT_EQ(KindWord(KindOf(Cause("a_word_of_a_later_version"))), "unknown");
}

TEST(FailureKind, OnlySomeFailuresSpeakAgainstTheNode) {
  EXPECT_TRUE(ShowsBadNode(Cause(reason::kDeviceFault)));
  EXPECT_TRUE(ShowsBadNode(Cause(reason::kStorageFault)));
  EXPECT_FALSE(ShowsBadNode(Cause(reason::kSegmentationFault)));
  EXPECT_TRUE(MayComeFromNode(Cause(reason::kSegmentationFault)));
  EXPECT_TRUE(MayComeFromNode(Cause(reason::kNetworkUnreachable)));
  for (const absl::string_view reason : {reason::kPythonException, reason::kOutOfMemory, reason::kKilledFromOutside,
                                         reason::kPeerConnectionLost, reason::kOutputRule}) {
    EXPECT_FALSE(MayComeFromNode(Cause(reason))) << reason;
  }
}

TEST(FailureKind, OnlyAProcessThatMayHaveFailedByItsNodeCallsForANodeCheck) {
  for (const absl::string_view reason : {reason::kDeviceFault, reason::kDeviceMissing, reason::kNetworkUnreachable,
                                         reason::kStorageFault, reason::kSegmentationFault, absl::string_view()}) {
    EXPECT_TRUE(CallsForNodeCheck(Cause(reason))) << reason;
  }
  for (const absl::string_view reason :
       {reason::kPythonException, reason::kOutOfMemory, reason::kKilledFromOutside, reason::kPeerConnectionLost,
        reason::kOutputRule, reason::kCollectiveTimeout, reason::kDamagedFile}) {
    EXPECT_FALSE(CallsForNodeCheck(Cause(reason))) << reason;
  }
  EXPECT_FALSE(CallsForNodeCheck(Cause("", v1::Cause::NODE_LOST)));
  EXPECT_FALSE(CallsForNodeCheck(Cause("", v1::Cause::NO_PROGRESS)));
}

}  // namespace
}  // namespace muster
