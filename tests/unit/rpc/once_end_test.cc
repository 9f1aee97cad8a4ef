#include "scheduler/once_end.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <vector>

#include "common/base/exit_codes.h"

namespace muster::scheduler {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

class OnceEndTest : public ::testing::Test {
 protected:
  OnceEnd Make(bool is_once, bool has_direct_port) {
    return OnceEnd(is_once, has_direct_port, [this](int code) { codes_.push_back(code); });
  }
  static RunSettled NoRun() {
    RunSettled settled;
    settled.outcome.mutable_cause()->set_kind(v1::Cause::NEVER_FORMED);
    return settled;
  }
  static RunSettled Succeeded() {
    RunSettled settled;
    settled.run = 1;
    settled.outcome.set_succeeded(true);
    return settled;
  }

  std::vector<int> codes_;
};

TEST_F(OnceEndTest, WithoutOnceNothingEndsIt) {
  OnceEnd end = Make(false, true);
  end.OnRun(Succeeded());
  end.OnRun(NoRun());
  end.OnDirect(DirectEnd::kWell);
  end.OnDirect(DirectEnd::kNeverFormed);
  EXPECT_THAT(codes_, IsEmpty());
}

TEST_F(OnceEndTest, AJobOrAClusterEndsIt) {
  OnceEnd end = Make(true, true);
  end.OnRun(Succeeded());
  end.OnDirect(DirectEnd::kWell);
  end.OnDirect(DirectEnd::kFailed);
  EXPECT_THAT(codes_, ElementsAre(kExitSuccess, kExitSuccess, kExitJobFailed));
}

TEST_F(OnceEndTest, AloneAJobThatNeverFormedEndsIt) {
  OnceEnd end = Make(true, false);
  end.OnRun(NoRun());
  EXPECT_THAT(codes_, ElementsAre(kExitNeverFormed));
}

TEST_F(OnceEndTest, BesideAPortForMindSporeBothMustFail) {
  for (const bool is_run_first : {true, false}) {
    codes_.clear();
    OnceEnd end = Make(true, true);
    if (is_run_first) end.OnRun(NoRun());
    if (!is_run_first) end.OnDirect(DirectEnd::kNeverFormed);
    EXPECT_THAT(codes_, IsEmpty()) << "the other one may still form";
    if (is_run_first) end.OnDirect(DirectEnd::kNeverFormed);
    if (!is_run_first) end.OnRun(NoRun());
    EXPECT_THAT(codes_, ElementsAre(kExitNeverFormed));
  }
}

}  // namespace
}  // namespace muster::scheduler
