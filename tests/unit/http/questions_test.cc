#include "scheduler/http/questions.h"

#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"
#include "tests/unit/common/manual_clock.h"

namespace muster::http {
namespace {

class QuestionsTest : public ::testing::Test {
 protected:
  void Ask(const std::string& key, const Questions::Asker& asker = {}) {
    questions_.Ask(
        asker, key, scheduler::OverviewRequest(),
        [this, key](const scheduler::Answer& answer) {
          rendered_keys_ += key;
          return MakeResponse(answer.status.ok() ? 200 : 503, kPlainText, absl::StrCat("answer ", ++rendered_));
        },
        [this](ResponsePtr response) { replies_.push_back(response->body); });
  }
  // Makes the core answer the oldest question.
  void AnswerOne() {
    ASSERT_FALSE(asked_.empty());
    const auto done = asked_.front();
    asked_.erase(asked_.begin());
    done(scheduler::Answer{});
  }

  ManualClock clock_;
  std::vector<std::function<void(scheduler::Answer)>> asked_;
  std::vector<std::string> replies_;
  std::string why_full_;
  int rendered_ = 0;
  std::string rendered_keys_;
  Questions questions_{{.ask =
                            [this](scheduler::QueryRequest, std::function<void(scheduler::Answer)> done) {
                              asked_.push_back(std::move(done));
                              return absl::OkStatus();
                            },
                        .post = [](std::function<void()> task) { task(); },
                        .why_full = [this] { return why_full_; }},
                       clock_};
};

TEST_F(QuestionsTest, OneAnswerServesAllQuestionsOfOneMoment) {
  for (int i = 0; i < 200; ++i) Ask("a");
  EXPECT_EQ(asked_.size(), 1);
  AnswerOne();
  EXPECT_EQ(replies_.size(), 200);
  Ask("a");
  EXPECT_EQ(replies_.back(), "answer 1");
  EXPECT_TRUE(asked_.empty());
  clock_.Advance(Questions::kFresh);
  Ask("a");
  EXPECT_EQ(asked_.size(), 1) << "an old answer is asked for again";
  AnswerOne();
  EXPECT_EQ(replies_.back(), "answer 2");
}

TEST_F(QuestionsTest, TheCoreIsAskedOneThingAtATimeAndFewInATick) {
  for (int i = 0; i < 20; ++i) Ask(absl::StrCat("key ", i));
  for (int i = 0; i < Questions::kEachTick; ++i) {
    EXPECT_EQ(asked_.size(), 1);
    AnswerOne();
  }
  EXPECT_TRUE(asked_.empty());
  EXPECT_EQ(replies_.size(), size_t{Questions::kEachTick});
  questions_.Tick();
  EXPECT_EQ(asked_.size(), 1);
}

TEST_F(QuestionsTest, RemembersLittleAndNotForLong) {
  for (size_t i = 0; i < 2 * Questions::kMaxKept; ++i) Ask(absl::StrCat("key ", i));
  EXPECT_EQ(questions_.size(), Questions::kMaxKept);
  EXPECT_EQ(replies_.size(), Questions::kMaxKept) << "the others are turned away at once";
  for (size_t i = 0; i < Questions::kMaxKept; ++i) {
    if (asked_.empty()) questions_.Tick();
    AnswerOne();
  }
  clock_.Advance(Questions::kFresh);
  questions_.Tick();
  EXPECT_EQ(questions_.size(), 0);
}

TEST_F(QuestionsTest, AddressesTakeTurnsAndMetricsComeFirst) {
  for (const char* key : {"a", "b", "c", "d", "e"}) Ask(key, {.connection = 1, .client_key = "1"});
  Ask("x", {.connection = 2, .client_key = "2"});
  Ask("m", {.connection = 3, .client_key = "1", .is_first = true});
  for (int i = 0; i < Questions::kEachTick; ++i) AnswerOne();
  EXPECT_EQ(rendered_keys_, "amxb") << "a was on its way already";
}

TEST_F(QuestionsTest, AQuestionWithoutWaiterIsNotAsked) {
  for (size_t i = 0; i < Questions::kMaxKept; ++i)
    Ask(absl::StrCat("key ", i), {.connection = i + 1, .client_key = "1"});
  Ask("other", {.connection = 1000, .client_key = "2"});
  EXPECT_EQ(replies_.size(), 1) << "the table is full";
  Ask("metrics", {.connection = 1001, .client_key = "2", .is_first = true});
  EXPECT_EQ(replies_.size(), 1) << "there is always room for metrics";
  for (size_t i = 0; i < Questions::kMaxKept; ++i) questions_.Forget(i + 1);
  EXPECT_EQ(questions_.size(), 2) << "what is on its way, and metrics";
  AnswerOne();
  AnswerOne();
  EXPECT_EQ(rendered_keys_, "key 0metrics");
  EXPECT_EQ(replies_.size(), 2) << "no request waited for the first";
}

TEST_F(QuestionsTest, OnAFullDiskNothingIsAsked) {
  why_full_ = "the disk is full";
  Ask("a");
  EXPECT_TRUE(asked_.empty());
  EXPECT_EQ(replies_.size(), 1);
}

}  // namespace
}  // namespace muster::http
