// Scripts of two agents that share one store.
#include "worker_agent/gateway/script_store/operations.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <deque>
#include <memory>

#include "absl/strings/str_cat.h"
#include "common/store/memory_job_store.h"
#include "tests/unit/common/manual_clock.h"

namespace muster::script_store {
namespace {

using ::testing::HasSubstr;

// Ranks 0 and 1 are the first agent's, 2 and 3 the second's.
class ScriptOperationsTest : public testing::Test {
 protected:
  ScriptOperationsTest() {
    for (size_t agent = 0; agent < 2; ++agent) {
      agent::TaskLayout layout;
      layout.agents = {{0, 1}, {2, 3}};
      layout.hosts = {"one", "two"};
      layout.own = agent;
      agents_.push_back(std::make_unique<Operations>(store_, clock_, Post(), layout));
    }
  }
  ~ScriptOperationsTest() override { steps_.clear(); }

  agent::Post Post() {
    return [this](std::function<void()> step) { steps_.push_back(std::move(step)); };
  }
  // Returns the answer; empty: there is none yet.
  std::string& Ask(size_t agent, const std::string& line) {
    std::string& answer = answers_.emplace_back();
    const absl::StatusOr<Request> request = ReadRequest(line);
    EXPECT_TRUE(request.ok()) << request.status();
    agents_[agent]->Handle(*request, [&answer](std::string reply) { answer = std::move(reply); });
    Run();
    return answer;
  }
  std::string& Barrier(int rank, const std::string& more = "") {
    return Ask(static_cast<size_t>(rank / 2), absl::StrCat(R"({"op":"barrier","name":"b","rank":)", rank, more, "}"));
  }
  void Run() {
    for (; !steps_.empty(); steps_.pop_front()) steps_.front()();
  }
  void Pass(absl::Duration time) {
    clock_.Advance(time);
    store_.Tick();
    for (auto& agent : agents_) agent->Tick();
    Run();
  }

  ManualClock clock_;
  std::deque<std::function<void()>> steps_;
  MemoryJobStore store_{clock_};
  std::deque<std::string> answers_;
  std::vector<std::unique_ptr<Operations>> agents_;
};

TEST_F(ScriptOperationsTest, ValuesAreSeenByAll) {
  EXPECT_EQ(Ask(0, R"({"op":"get","key":"a"})"), ValueLine(std::nullopt));
  EXPECT_EQ(Ask(0, R"({"op":"set","key":"ab","value":"eA=="})"), Nothing());
  EXPECT_EQ(Ask(1, R"({"op":"get","key":"a"})"), ValueLine(std::nullopt)) << "a key that only begins so";
  EXPECT_EQ(Ask(1, R"({"op":"get","key":"ab"})"), ValueLine("x"));
  EXPECT_EQ(Ask(1, R"({"op":"peek","key":"ab"})"), ValueLine("x"));
  EXPECT_EQ(Ask(1, R"({"op":"delete","key":"ab"})"), Nothing());
  EXPECT_EQ(Ask(0, R"({"op":"get","key":"ab"})"), ValueLine(std::nullopt));
}

TEST_F(ScriptOperationsTest, AWaitEndsWithTheKeyOrItsTime) {
  const std::string& answer = Ask(1, R"({"op":"wait","key":"a","limit_ms":1000})");
  const std::string& never = Ask(1, R"({"op":"wait","key":"never","limit_ms":1000})");
  EXPECT_EQ(answer, "");
  Ask(0, R"({"op":"set","key":"a","value":"eA=="})");
  EXPECT_EQ(answer, ValueLine("x"));
  Pass(absl::Seconds(2));
  EXPECT_THAT(never, HasSubstr("DEADLINE_EXCEEDED"));
}

TEST_F(ScriptOperationsTest, NumbersAndSwapsTellWhatIsThere) {
  EXPECT_EQ(Ask(0, R"({"op":"add","key":"n","delta":2})"), NumberLine(2));
  EXPECT_EQ(Ask(1, R"({"op":"add","key":"n","delta":-5})"), NumberLine(-3));
  EXPECT_EQ(Ask(0, R"({"op":"compare_and_set","key":"s","value":"eA=="})"), ValueLine("x"));
  EXPECT_EQ(Ask(1, R"({"op":"compare_and_set","key":"s","value":"eQ=="})"), ValueLine("x")) << "it is there";
  EXPECT_EQ(Ask(1, R"({"op":"compare_and_set","key":"s","value":"eQ==","expected":"eA=="})"), ValueLine("y"));
  EXPECT_THAT(Ask(1, R"({"op":"add","key":"s","delta":1})"), HasSubstr("INVALID_ARGUMENT"));
}

TEST_F(ScriptOperationsTest, AListHasScriptsKeysOnly) {
  store_.Set("jax/k/a", "other", Lifetime::kRound, [](const absl::Status&) {});
  Ask(0, R"({"op":"set","key":"b/2","value":"eQ=="})");
  Ask(0, R"({"op":"set","key":"b/1","value":"eA=="})");
  Ask(0, R"({"op":"set","key":"c","value":""})");
  EXPECT_EQ(Ask(1, R"({"op":"list","prefix":""})"), EntriesLine({{{"b/1", "x"}, {"b/2", "y"}, {"c", ""}}, false}));
  EXPECT_EQ(Ask(1, R"({"op":"list","prefix":"b/","after":"b/1"})"), EntriesLine({{{"b/2", "y"}}, false}));
}

TEST_F(ScriptOperationsTest, ABarrierIsThereAgainForTheNextTime) {
  for (int time = 0; time < 3; ++time) {
    std::vector<std::string*> came;
    for (const int rank : {0, 3, 2}) came.push_back(&Barrier(rank));
    for (const std::string* answer : came) EXPECT_EQ(*answer, "") << "rank 1 is missing";
    EXPECT_EQ(Barrier(1), Nothing());
    for (const std::string* answer : came) EXPECT_EQ(*answer, Nothing());
  }
}

TEST_F(ScriptOperationsTest, ABarrierOfSomeWaitsForThemOnly) {
  EXPECT_EQ(Barrier(0, R"(,"ranks":[0,2])"), "");
  EXPECT_EQ(Barrier(2, R"(,"ranks":[0,2])"), Nothing());
}

TEST_F(ScriptOperationsTest, ABarrierNamesTheMissingRanks) {
  const std::string& one = Barrier(0, R"(,"limit_ms":5000)");
  const std::string& two = Barrier(2, R"(,"limit_ms":5000)");
  Pass(absl::Seconds(1.1));
  Pass(absl::Seconds(4));
  EXPECT_EQ(one, ErrorLine(absl::DeadlineExceededError(
                     "Barrier timed out. Id: \"b\". 2 of 4 ranks have come; missing: 1 on one, 3 on two.")));
  EXPECT_EQ(two, one);
}

TEST_F(ScriptOperationsTest, ARankOfAnotherAgentIsRefused) {
  EXPECT_THAT(Ask(1, R"({"op":"barrier","name":"b","rank":0})"),
              HasSubstr("rank 0 does not run on this node, which has the ranks 2, 3"));
  EXPECT_THAT(Ask(0, R"({"op":"barrier","name":"b"})"), HasSubstr("INVALID_ARGUMENT"));
  EXPECT_THAT(Barrier(0, R"(,"ranks":[0,9])"), HasSubstr("INVALID_ARGUMENT"));
}

TEST_F(ScriptOperationsTest, WithoutALayoutThereAreNoBarriers) {
  const absl::Status unknown = absl::InternalError("the round's peer list is not known");
  Operations operations(store_, clock_, Post(), unknown);
  std::string answer;
  operations.Handle(*ReadRequest(R"({"op":"barrier","name":"b","rank":0})"),
                    [&answer](std::string reply) { answer = std::move(reply); });
  EXPECT_EQ(answer,
            ErrorLine(absl::UnimplementedError("barriers are not served here: the round's peer list is not known")));
  EXPECT_FALSE(operations.IsBusy());
}

}  // namespace
}  // namespace muster::script_store
