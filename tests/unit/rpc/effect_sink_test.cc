// The core's announcements, as they appear in the log.
#include "scheduler/frontend/effect_sink.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

namespace muster::scheduler {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

class EffectSinkTest : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = (std::filesystem::temp_directory_path() / "muster-log-XXXXXX").string();
    ASSERT_NE(mkdtemp(pattern.data()), nullptr);
    folder_ = pattern;
  }
  void TearDown() override {
    ASSERT_TRUE(InitLogging({"test", "text", "info", ""}).ok());
    std::filesystem::remove_all(folder_);
  }
  std::vector<std::string> LinesOf(const std::string& format, const std::function<void()>& act) {
    EXPECT_TRUE(InitLogging({"ms-scheduler", format, "info", folder_ + "/log"}).ok());
    act();
    std::ifstream file(folder_ + "/log");
    std::vector<std::string> lines;
    for (std::string line; std::getline(file, line);) lines.push_back(line);
    return lines;
  }
  Announce AFailure() {
    auto event = std::make_shared<v1::JobEvent>();
    event->set_kind("run_failed");
    event->set_job_id("job");
    event->set_run(3);
    event->set_text("rank 1 died");
    event->add_last_lines("Traceback");
    event->add_last_lines("forged\n2026-01-01 ERROR line");
    return {Severity::kError, std::move(event)};
  }

  std::string folder_;
  StreamRegistry streams_;
  PendingQueries queries_{1};
  PublishedRounds rounds_;
  CountedLog counted_{Clock::System()};
  std::vector<uint64_t> settled_;
  RpcEffectSink sink_{streams_, queries_, rounds_, counted_,
                      [this](const RunSettled& s) { settled_.push_back(s.run); }};
};

TEST_F(EffectSinkTest, LastLinesFollowTheTextIndented) {
  const auto lines = LinesOf("text", [&] { sink_.OnAnnounce(AFailure()); });
  EXPECT_THAT(lines, ElementsAre(HasSubstr("ERROR ms-scheduler: rank 1 died"), HasSubstr(":     Traceback"),
                                 HasSubstr(":     forged\\n2026-01-01 ERROR line")));
}

TEST_F(EffectSinkTest, JsonLinesCarryTheKindAndTheJob) {
  const auto lines = LinesOf("json", [&] { sink_.OnAnnounce(AFailure()); });
  ASSERT_EQ(lines.size(), 3u);
  EXPECT_THAT(lines[0], HasSubstr(R"("kind":"run_failed","job":"job","run":"3")"));
}

TEST_F(EffectSinkTest, RefusalsAreCountedByReasonAndNotAFlood) {
  auto message = std::make_shared<v1::SchedulerMessage>();
  message->mutable_refusal()->set_reason(v1::Refusal::EXTRA_NODE);
  message->mutable_refusal()->set_text("one too many");
  const auto lines = LinesOf("text", [&] {
    for (StreamId stream = 1; stream <= 10'000; ++stream) sink_.OnSend(stream, message);
  });
  EXPECT_EQ(lines.size(), 1u);
  EXPECT_EQ(counted_.Counts()["refused EXTRA_NODE"], 10'000u);
}

TEST_F(EffectSinkTest, ARefusedCommandIsCountedAsOftenAsItHappened) {
  auto event = std::make_shared<v1::JobEvent>();
  event->set_text("node b refused 40 remote commands");
  event->set_times(40);
  event->set_refusal("remote command: WRONG_KEY");
  const auto lines = LinesOf("text", [&] {
    sink_.OnAnnounce({Severity::kWarning, event});
    sink_.OnAnnounce({Severity::kWarning, event});
  });
  EXPECT_THAT(lines, ElementsAre(HasSubstr("WARNING ms-scheduler: node b refused 40 remote commands")));
  EXPECT_EQ(counted_.Counts()["remote command: WRONG_KEY"], 80U);
}

TEST_F(EffectSinkTest, SettledRunsAreHandedOn) {
  sink_.OnRunSettled(RunSettled{"job", 4, {}});
  EXPECT_THAT(settled_, ElementsAre(4u));
}

}  // namespace
}  // namespace muster::scheduler
