#include "worker_agent/gateway/exec/command_reports.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"

namespace muster::exec {
namespace {

using testing::IsEmpty;
using testing::SizeIs;

class CommandReportsTest : public testing::Test {
 protected:
  std::vector<v1::RemoteCommands> Add(const std::string& words,
                                      v1::RemoteCommands::Refusal refusal = v1::RemoteCommands::NOT_REFUSED) {
    v1::RemoteCommands command;
    command.set_words(words);
    command.set_refusal(refusal);
    return reports_.Add(std::move(command), now_);
  }
  void UseUp() {
    for (uint32_t i = 0; i < CommandReports::kReportedEach; ++i) ASSERT_THAT(Add("orted"), SizeIs(1));
  }

  CommandReports reports_;
  MonotonicTime now_ = MonotonicTime() + absl::Hours(1);
};

TEST_F(CommandReportsTest, TheFirstOnesAreReportedOneByOneThenOneStandsForMany) {
  UseUp();
  for (int i = 0; i < 100; ++i) EXPECT_THAT(Add(absl::StrCat("command ", i)), IsEmpty());
  EXPECT_THAT(reports_.TakeDue(now_), IsEmpty());
  now_ = now_ + CommandReports::kFirstPause;
  const auto due = reports_.TakeDue(now_);
  ASSERT_THAT(due, SizeIs(1));
  EXPECT_EQ(due[0].count(), 100U);
  EXPECT_EQ(due[0].words(), "command 99");
  EXPECT_THAT(reports_.TakeDue(now_), IsEmpty());
}

TEST_F(CommandReportsTest, AFloodOfADayIsReportedInFewLines) {
  size_t lines = 0;
  uint64_t count = 0;
  for (int second = 0; second < 86'400; ++second) {
    for (int i = 0; i < 10; ++i) {
      for (const v1::RemoteCommands& reported : Add("flood", v1::RemoteCommands::WRONG_KEY)) {
        ++lines;
        count += reported.count();
      }
    }
    now_ = now_ + absl::Seconds(1);
  }
  for (const v1::RemoteCommands& reported : reports_.EndRound()) count += reported.count();
  EXPECT_EQ(count, 864'000U);
  EXPECT_LE(lines, CommandReports::kReportedEach + 160);
}

TEST_F(CommandReportsTest, EachReasonForARefusalIsReportedByItself) {
  UseUp();
  EXPECT_THAT(Add("orted"), IsEmpty());
  EXPECT_THAT(Add("", v1::RemoteCommands::OTHER_JOB), SizeIs(1));
}

TEST_F(CommandReportsTest, TheEndOfARoundReportsTheRestAndBeginsAgain) {
  UseUp();
  EXPECT_THAT(Add("the last"), IsEmpty());
  const auto rest = reports_.EndRound();
  ASSERT_THAT(rest, SizeIs(1));
  EXPECT_EQ(rest[0].words(), "the last");
  EXPECT_THAT(reports_.EndRound(), IsEmpty());
  EXPECT_THAT(Add("of the next round"), SizeIs(1));
}

}  // namespace
}  // namespace muster::exec
