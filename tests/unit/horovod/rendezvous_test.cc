#include "worker_agent/gateway/horovod/rendezvous.h"

#include <gtest/gtest.h>

#include <optional>

#include "absl/strings/str_cat.h"
#include "common/store/memory_job_store.h"
#include "tests/unit/common/manual_clock.h"

namespace muster::horovod {
namespace {

using Method = Request::Method;

class RendezvousTest : public testing::Test {
 protected:
  std::optional<Answer> Ask(Rendezvous& of, uint32_t slot, Method method, const std::string& scope,
                            const std::string& key, const std::string& body = "") {
    const auto answer = std::make_shared<std::optional<Answer>>();
    of.Handle(slot, {method, scope, key, body}, [answer](Answer got) { *answer = std::move(got); });
    last_ = answer;
    return *answer;
  }
  int Status(Rendezvous& of, uint32_t slot, Method method, const std::string& scope, const std::string& key,
             const std::string& body = "") {
    const auto answer = Ask(of, slot, method, scope, key, body);
    return answer ? answer->status : 0;
  }
  std::string Value(Rendezvous& of, uint32_t slot, const std::string& scope, const std::string& key) {
    const auto answer = Ask(of, slot, Method::kGet, scope, key);
    return answer && answer->status == 200 ? answer->body : absl::StrCat("status ", answer ? answer->status : 0);
  }
  // Returns true if the key is missing: the request waits for it, and then gets 404.
  bool IsMissing(Rendezvous& of, uint32_t slot, const std::string& scope, const std::string& key) {
    if (Ask(of, slot, Method::kGet, scope, key)) return false;
    Pass();
    return *last_ && (*last_)->status == 404;
  }
  void Pass() {
    clock_.Advance(absl::Seconds(1));
    store_.Tick();
  }

  ManualClock clock_;
  MemoryJobStore store_{clock_};
  Rendezvous here_{store_, clock_};
  Rendezvous there_{store_, clock_};
  std::shared_ptr<std::optional<Answer>> last_;
};

TEST_F(RendezvousTest, RanksOfTwoAgentsFindEachOther) {
  EXPECT_TRUE(IsMissing(there_, 0, "global", "0"));
  EXPECT_EQ(Status(here_, 0, Method::kPut, "global", "0", "a"), 200);
  EXPECT_EQ(Value(there_, 0, "global", "0"), "a");
  EXPECT_TRUE(IsMissing(there_, 0, "local_x", "0")) << "scopes are apart";
}

TEST_F(RendezvousTest, AWaitIsAnsweredWhenTheValueComes) {
  EXPECT_EQ(Ask(there_, 0, Method::kGet, "global", "0"), std::nullopt);
  const auto waits = last_;
  EXPECT_EQ(Status(here_, 0, Method::kPut, "global", "0", ""), 200);
  ASSERT_TRUE(waits->has_value());
  EXPECT_EQ((*waits)->status, 200);
  EXPECT_EQ((*waits)->body, "");
}

TEST_F(RendezvousTest, LargeValuesGoInPieces) {
  std::string large(kMaxBodyBytes, 'x');
  large.back() = 'y';
  EXPECT_EQ(Status(here_, 0, Method::kPut, "global", "0", large), 200);
  EXPECT_EQ(Value(there_, 0, "global", "0"), large);
}

TEST_F(RendezvousTest, AFinishedWorkerBeginsWithAnEmptyScope) {
  for (int start = 0; start < 4; ++start) {
    EXPECT_TRUE(IsMissing(here_, 0, "global", "1")) << start;
    const std::string value = absl::StrCat("of start ", start);
    EXPECT_EQ(Status(here_, 0, Method::kPut, "global", "0", value), 200);
    EXPECT_EQ(Status(there_, 0, Method::kPut, "global", "1", value), 200);
    EXPECT_EQ(Value(here_, 0, "global", "1"), value);
    EXPECT_EQ(Status(here_, 0, Method::kDelete, "global", "0"), 200);
    EXPECT_EQ(Value(there_, 0, "global", "0"), value) << "the other one is not ready yet";
    EXPECT_EQ(Status(there_, 0, Method::kDelete, "global", "1"), 200);
  }
}

TEST_F(RendezvousTest, NothingPilesUp) {
  for (int start = 0; start < 3; ++start) {
    Status(here_, 0, Method::kPut, "global", "0", "v");
    Status(here_, 0, Method::kDelete, "global", "0");
  }
  const auto has = [&](const std::string& key) {
    bool has_it = false;
    store_.Get(key, [&](const auto& value) { has_it = value.ok() && value->has_value(); });
    return has_it;
  };
  EXPECT_FALSE(has("horovod/0/global/0/0"));
  EXPECT_FALSE(has("horovod/1/global/0/0"));
  EXPECT_TRUE(has("horovod/2/global/0/0"));
}

TEST_F(RendezvousTest, ASlotLeavesNoMoreThanItMay) {
  for (size_t i = 0; i < kMaxKeys; ++i) {
    EXPECT_EQ(Status(here_, 0, Method::kPut, "global", absl::StrCat(i), "v"), 200);
  }
  EXPECT_EQ(Status(here_, 0, Method::kPut, "global", "more", "v"), 507);
  EXPECT_EQ(Status(here_, 0, Method::kPut, "global", "0", "v"), 200) << "the same again";
  for (size_t i = 1; i < kMaxScopes; ++i) Status(here_, 0, Method::kPut, absl::StrCat("scope", i), "0", "v");
  EXPECT_EQ(Status(here_, 0, Method::kPut, "another", "0", "v"), 507);
  EXPECT_EQ(Status(here_, 0, Method::kDelete, "another", "0"), 507);
  EXPECT_EQ(Status(here_, 1, Method::kPut, "another", "1", "v"), 200) << "of another slot";
}

TEST_F(RendezvousTest, WhatIsNoValueOfAnAgentsIsAnError) {
  store_.Set("horovod/0/global/0/0", "ab", Lifetime::kRound, [](const absl::Status&) {});
  EXPECT_EQ(Status(here_, 0, Method::kGet, "global", "0"), 500);
}

}  // namespace
}  // namespace muster::horovod
