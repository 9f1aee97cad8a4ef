#include "scheduler/notices/notice.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>

namespace muster::scheduler {
namespace {

v1::StoryEvent Line(const std::string& kind, const std::string& text = "", int64_t unix_ms = 0) {
  v1::StoryEvent event;
  event.set_kind(kind);
  event.set_text(text);
  event.set_job_id("train");
  event.set_run(3);
  event.set_unix_ms(unix_ms);
  return event;
}

std::string KindOf(NoticeRules& rules, const v1::StoryEvent& event) {
  const std::optional<Notice> notice = rules.Judge(event);
  return notice ? notice->kind : "";
}

TEST(NoticeRules, OnlyWhatIsWorthWakingSomebodyIsTold) {
  NoticeRules rules;
  for (const char* quiet :
       {"run_opened", "node_joined", "run_succeeded", "node_left", "process_failed", "of_tomorrow"}) {
    EXPECT_EQ(KindOf(rules, Line(quiet)), "") << quiet;
  }
  EXPECT_EQ(KindOf(rules, Line("run_failed", "job train failed after 3 s (run 3): rank 1 …")), "job_failed");
  EXPECT_EQ(KindOf(rules, Line("run_failed", "job train failed: gave up after 3 restarts")), "budget_used_up");
  EXPECT_EQ(KindOf(rules, Line("round_aborted")), "job_restarted");
  EXPECT_EQ(KindOf(rules, Line("process_restarted")), "job_restarted");
  EXPECT_EQ(KindOf(rules, Line("node_lost")), "node_lost");
}

TEST(NoticeRules, FormingIsLateAfterFiveMinutes) {
  NoticeRules rules;
  rules.Judge(Line("run_opened", "", 1000));
  EXPECT_EQ(KindOf(rules, Line("round_closed", "", 300'999)), "");
  rules.Judge(Line("round_aborted", "", 400'000));
  EXPECT_EQ(KindOf(rules, Line("round_closed", "", 700'000)), "formed_late");
  EXPECT_EQ(KindOf(rules, Line("round_closed", "", 9'000'000)), "") << "nothing is known to have begun";
}

TEST(NoticeRules, TheJsonIsOneLineAndFitsIntoAPipe) {
  NoticeRules rules;
  v1::StoryEvent event = Line("run_failed", "rank 1 \"ended\"\n\xff", 77);
  event.add_last_lines("Traceback");
  const std::string text = rules.Judge(event)->json;
  EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 1);
  const auto json = nlohmann::json::parse(text);
  EXPECT_EQ(json["kind"], "job_failed");
  EXPECT_EQ(json["job_id"], "train");
  EXPECT_EQ(json["run"], 3);
  EXPECT_EQ(json["last_lines"][0], "Traceback");
  for (int i = 0; i < 100; ++i) event.add_last_lines(std::string(2000, '\x01'));
  EXPECT_LE(rules.Judge(event)->json.size(), kMaxNoticeBytes);
}

TEST(NoticeRules, ACertificateIsToldOnceForEachEnd) {
  NoticeRules rules;
  const int64_t day = 24 * 3'600'000;
  EXPECT_FALSE(rules.JudgeCertificate(0, day)) << "no TLS";
  EXPECT_FALSE(rules.JudgeCertificate(30 * day, day));
  EXPECT_TRUE(rules.JudgeCertificate(30 * day, 24 * day));
  EXPECT_FALSE(rules.JudgeCertificate(30 * day, 25 * day));
  EXPECT_TRUE(rules.JudgeCertificate(60 * day, 59 * day)) << "the next one";
}

}  // namespace
}  // namespace muster::scheduler
