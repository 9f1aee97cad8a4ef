#include "scheduler/notices/notice.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>

namespace muster::scheduler {
namespace {

v1::JobEvent Line(const std::string& kind, const std::string& text = "", int64_t unix_ms = 0) {
  v1::JobEvent event;
  event.set_kind(kind);
  event.set_text(text);
  event.set_job_id("train");
  event.set_run(3);
  event.set_unix_ms(unix_ms);
  return event;
}

// "kind", or "kind, kind".
std::string KindsOf(const std::vector<Notice>& notices) {
  std::string kinds;
  for (const Notice& notice : notices) kinds += (kinds.empty() ? "" : ", ") + notice.kind;
  return kinds;
}

std::string KindOf(NoticeRules& rules, const v1::JobEvent& event) { return KindsOf(rules.Judge(event)); }

nlohmann::json Parsed(const Notice& notice) { return nlohmann::json::parse(notice.json); }

TEST(NoticeRules, OnlyWhatIsWorthWakingSomebodyIsTold) {
  NoticeRules rules;
  for (const char* quiet :
       {"run_opened", "node_joined", "run_succeeded", "node_left", "process_failed", "of_tomorrow"}) {
    EXPECT_EQ(KindOf(rules, Line(quiet)), "") << quiet;
  }
  EXPECT_EQ(KindOf(rules, Line("run_failed", "job train failed after 3 s (run 3): rank 1 …")), "job_failed");
  EXPECT_EQ(KindOf(rules, Line("round_aborted")), "job_restarted");
  EXPECT_EQ(KindOf(rules, Line("process_restarted", "", 60'000)), "job_restarted");
  EXPECT_EQ(KindOf(rules, Line("node_lost")), "node_lost");
}

TEST(NoticeRules, ThatTheBudgetIsUsedUpIsTheCoresWordAndNoQuotedOne) {
  NoticeRules rules;
  const std::string failed = "job train failed after 3 s (run 3): ";
  EXPECT_EQ(KindOf(rules, Line("run_failed", failed + "gave up after 3 restarts (--max_restarts 3 an hour): rank 1 …")),
            "budget_used_up");
  EXPECT_EQ(KindOf(rules, Line("run_failed", failed + "rank 1 said \"gave up after 3 attempts\"")), "job_failed");
  EXPECT_EQ(KindOf(rules, Line("run_failed", failed + "rank 1 said \"x (run 3): gave up after 3 restarts\"")),
            "job_failed");
}

TEST(NoticeRules, LossesOfOneMinuteAreReportedTogether) {
  NoticeRules rules;
  EXPECT_EQ(KindOf(rules, Line("node_lost", "node 0 is lost", 1000)), "node_lost") << "the first one at once";
  for (int i = 1; i <= 100; ++i) {
    EXPECT_EQ(KindOf(rules, Line("node_lost", "node " + std::to_string(i) + " is lost", 1000 + i)), "");
  }
  EXPECT_EQ(KindsOf(rules.TakeFolded(60'999)), "");
  const std::vector<Notice> together = rules.TakeFolded(61'000);
  ASSERT_EQ(KindsOf(together), "node_lost");
  const nlohmann::json json = Parsed(together[0]);
  EXPECT_EQ(json["count"], 100);
  EXPECT_EQ(json["job_id"], "train");
  EXPECT_EQ(json["text"],
            "100 more nodes of job train are lost within a minute: node 1 is lost; node 2 is lost; node 3 is lost; and "
            "97 more");
  EXPECT_EQ(KindOf(rules, Line("node_lost", "", 61'001)), "") << "the next minute has begun";
  EXPECT_EQ(Parsed(rules.TakeFolded(121'000).at(0))["count"], 1);
  EXPECT_EQ(KindsOf(rules.TakeFolded(181'000)), "");
  EXPECT_EQ(KindOf(rules, Line("node_lost", "", 181'001)), "node_lost") << "it was quiet for a minute";
}

TEST(NoticeRules, EachJobAndKindIsFoldedByItself) {
  NoticeRules rules;
  v1::JobEvent other = Line("node_lost");
  other.set_job_id("other");
  EXPECT_EQ(KindOf(rules, Line("node_lost")), "node_lost");
  EXPECT_EQ(KindOf(rules, other), "node_lost");
  EXPECT_EQ(KindOf(rules, Line("round_aborted")), "job_restarted");
  EXPECT_EQ(KindOf(rules, Line("process_restarted")), "");
  EXPECT_EQ(KindsOf(rules.TakeFolded(INT64_MAX)), "job_restarted") << "all of them at the end";
}

TEST(NoticeRules, WhatIsFoldedIsToldBeforeTheRunsEnd) {
  NoticeRules rules;
  for (int i = 0; i < 3; ++i) rules.Judge(Line("node_lost"));
  EXPECT_EQ(KindOf(rules, Line("run_failed")), "node_lost, job_failed");
  EXPECT_EQ(KindsOf(rules.TakeFolded(INT64_MAX)), "");
  EXPECT_EQ(KindOf(rules, Line("node_lost")), "node_lost") << "of the next run";
}

TEST(NoticeRules, AClockThatIsSetBackHoldsNothingBack) {
  NoticeRules rules;
  for (int i = 0; i < 3; ++i) rules.Judge(Line("node_lost", "", 1'000'000));
  EXPECT_EQ(KindsOf(rules.TakeFolded(500'000)), "node_lost");
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
  v1::JobEvent event = Line("run_failed", "rank 1 \"ended\"\n\xff", 77);
  event.add_last_lines("Traceback");
  const std::string text = rules.Judge(event).at(0).json;
  EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 1);
  const auto json = nlohmann::json::parse(text);
  EXPECT_EQ(json["kind"], "job_failed");
  EXPECT_EQ(json["job_id"], "train");
  EXPECT_EQ(json["run"], 3);
  EXPECT_EQ(json["last_lines"][0], "Traceback");
  for (int i = 0; i < 100; ++i) event.add_last_lines(std::string(2000, '\x01'));
  EXPECT_LE(rules.Judge(event).at(0).json.size(), kMaxNoticeBytes);
}

TEST(NoticeRules, ACertificateIsReportedOnceForEachEnd) {
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
