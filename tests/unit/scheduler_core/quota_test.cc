// No principal may take all places of jobs or nodes.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <vector>

#include "absl/strings/str_cat.h"
#include "common/base/limits.h"
#include "scheduler/core/core.h"
#include "scheduler/core/places/places.h"
#include "tests/unit/scheduler_core/run_builder.h"

namespace muster::scheduler {
namespace {

using testing::HasSubstr;

size_t TakeAll(Quota& quota, const std::string& principal) {
  size_t taken = 0;
  for (; quota.HasRoomFor(principal); ++taken) quota.Take(principal);
  return taken;
}

TEST(Quota, OnePrincipalAloneHasSevenEighths) {
  for (const size_t most : {8, 1'000, 65'472}) {
    Quota quota(most);
    EXPECT_EQ(TakeAll(quota, "a"), most / 8 * 7) << most;
  }
}

TEST(Quota, ANewPrincipalFindsAPlaceHoweverManyTheOthersTake) {
  Quota quota(1'000);
  std::vector<size_t> taken;
  for (int i = 0; i < 9; ++i) taken.push_back(TakeAll(quota, absl::StrCat("greedy", i)));
  EXPECT_THAT(taken, testing::ElementsAre(875, 63, 31, 16, 8, 4, 2, 1, 0));
}

TEST(Quota, WhatIsGivenBackIsThereForAll) {
  Quota quota(1'000);
  const size_t most = TakeAll(quota, "a");
  for (size_t i = 0; i < most; ++i) quota.Return("a");
  EXPECT_EQ(quota.HeldBy("a"), 0u);
  EXPECT_EQ(TakeAll(quota, "b"), most);
  EXPECT_TRUE(quota.HasRoomFor("a"));
}

TEST(Quota, OfNothingThereIsNoRoom) { EXPECT_FALSE(Quota(0).HasRoomFor("a")); }

struct From {
  std::string address = "10.0.0.1";
  std::string identity = "";
};

class HoldingTest : public testing::Test {
 protected:
  explicit HoldingTest(size_t max_nodes = 1'000'000) {
    CoreOptions options;
    options.max_nodes = max_nodes;
    core_ = std::make_unique<Core>(options, "c");
    Keep(core_->Start(TimeNow()));
  }
  Now TimeNow() const { return {At(now_s_), {}}; }
  // Treats all records as persisted.
  Effects Keep(Effects effects) {
    for (const Effect& effect : effects) {
      if (const auto* persist = std::get_if<Persist>(&effect)) records_.push_back(persist->record);
    }
    return effects;
  }
  Effects Do(const Event& event) { return Keep(core_->Apply(event, TimeNow())); }
  // Returns the refusal, if there is one.
  v1::Refusal Join(const std::string& job, const std::string& node, const From& from, uint32_t worker_num = 1,
                   bool is_spare = false) {
    JoinRequested event;
    event.stream = ++last_stream_;
    event.join.set_job_id(job);
    event.join.set_node_id(node);
    event.join.set_incarnation(last_stream_);
    event.join.set_connect_seq(1);
    event.join.mutable_settings()->set_worker_num(worker_num);
    *event.join.mutable_node() = InfoOf({.id = node, .host = "h"});
    event.join.mutable_node()->set_spare(is_spare);
    event.peer_address = from.address;
    event.identity = from.identity;
    for (const Effect& effect : Do(event)) {
      const auto* send = std::get_if<Send>(&effect);
      if (send != nullptr && send->message->has_refusal()) return send->message->refusal();
    }
    return {};
  }
  // Counts how many jobs it opens until it is refused.
  size_t OpenJobs(const From& from, const std::string& prefix) {
    size_t opened = 0;
    for (; opened < kMaxJobs; ++opened) {
      refusal_ = Join(absl::StrCat(prefix, opened), "n", from);
      if (refusal_.reason() != v1::Refusal::REASON_UNSPECIFIED) break;
    }
    core_->CheckInvariants();
    return opened;
  }
  // The one process of the node on this stream ends well, and its agent hangs up.
  void Finish(StreamId stream) {
    ReportReceived event;
    event.stream = stream;
    event.report.add_events()->set_number(1);
    event.report.mutable_events(0)->mutable_ended()->set_round(1);
    Do(event);
    Do(StreamClosed{stream});
  }
  void RestartScheduler() {
    CoreOptions options;
    core_ = std::make_unique<Core>(options, "c");
    for (const v1::Record& record : records_) core_->Recover(record);
    Keep(core_->Start(TimeNow()));
    core_->CheckInvariants();
  }

  std::unique_ptr<Core> core_;
  std::vector<v1::Record> records_;
  v1::Refusal refusal_;
  StreamId last_stream_ = 0;
  double now_s_ = 100;
};

TEST_F(HoldingTest, OneCertificateLeavesPlacesForTheJobsOfOthers) {
  const From hostile{.address = "10.0.0.66", .identity = "spiffe://muster/node/n"};
  EXPECT_EQ(OpenJobs(hostile, "junk"), kMaxJobs / 8 * 7);
  EXPECT_EQ(refusal_.reason(), v1::Refusal::TRY_LATER);
  EXPECT_GT(refusal_.retry_after_ms(), 0u);
  EXPECT_EQ(refusal_.limit(), "jobs of one party");
  EXPECT_THAT(refusal_.text(), HasSubstr("spiffe://muster/node/n has 875 of the 1000 jobs"));
  EXPECT_THAT(refusal_.text(), HasSubstr("ms-ctl stop"));
  // The identity counts, no matter from which address it comes.
  EXPECT_EQ(Join("more", "n", {.address = "10.0.0.67", .identity = hostile.identity}).limit(), "jobs of one party");
  EXPECT_GE(OpenJobs({.address = hostile.address, .identity = "spiffe://muster/node/honest"}, "honest"), 60u);
  EXPECT_GE(OpenJobs({.address = hostile.address, .identity = "spiffe://muster/node/late"}, "late"), 1u);
}

TEST_F(HoldingTest, WithoutCertificatesTheAddressCounts) {
  EXPECT_EQ(OpenJobs({.address = "2001:db8::1"}, "junk"), 875u);
  EXPECT_THAT(refusal_.text(), HasSubstr("address 2001:db8::/64 has 875"));
  EXPECT_EQ(Join("more", "n", {.address = "2001:db8::ffff:1"}).limit(), "jobs of one party") << "of the same /64";
  EXPECT_EQ(Join("honest", "n", {.address = "2001:db8:0:1::1"}).text(), "");
}

// Joining an existing job does not count, either.
TEST_F(HoldingTest, JoiningAnotherPrincipalsJobTakesNoJobPlace) {
  EXPECT_EQ(Join("theirs", "a", {.address = "10.0.0.2"}, 2).text(), "");
  EXPECT_EQ(OpenJobs({}, "junk"), kMaxJobs / 8 * 7 - 1);
  EXPECT_EQ(Join("theirs", "b", {}, 2).text(), "");
}

TEST_F(HoldingTest, EndedAndEmptyJobsGiveTheirPlacesBack) {
  ASSERT_EQ(OpenJobs({}, "a"), 875u);
  Finish(1);
  EXPECT_EQ(Join("next", "n", {}).text(), "");
  EXPECT_EQ(Join("more", "n", {}).limit(), "jobs of one party");
  EXPECT_EQ(Join("a0", "n", {}).limit(), "jobs of one party") << "its next run needs one, too";
  Do(StreamClosed{5});
  ReportReceived leaving;
  leaving.stream = 6;
  leaving.report.add_events()->set_number(1);
  leaving.report.mutable_events(0)->mutable_leaving()->set_is_quiet(true);
  Do(leaving);
  core_->CheckInvariants();
}

TEST_F(HoldingTest, AJobThatFormsWithoutAnybodyHoldsNone) {
  for (size_t i = 0; i < 2 * kMaxJobs; ++i) {
    ASSERT_EQ(Join(absl::StrCat("a", i), "n", {}, 2).text(), "") << i;
    ReportReceived leaving;
    leaving.stream = last_stream_;
    leaving.report.add_events()->set_number(1);
    leaving.report.mutable_events(0)->mutable_leaving()->set_is_quiet(true);
    Do(leaving);
  }
  core_->CheckInvariants();
}

TEST_F(HoldingTest, AfterARestartReturningNodesTakeThePlaces) {
  ASSERT_EQ(OpenJobs({.identity = "i"}, "a"), 875u);
  RestartScheduler();
  // After a restart their owners are unknown, but the places are taken.
  EXPECT_EQ(OpenJobs({.identity = "new"}, "new"), 63u);
  for (StreamId old = 1; old <= 875; ++old) {
    JoinRequested event;
    event.stream = 10'000 + old;
    event.identity = "i";
    event.join.set_job_id(absl::StrCat("a", old - 1));
    event.join.set_node_id("n");
    event.join.set_cluster_id("c");
    event.join.set_run(1);
    event.join.set_incarnation(old);
    event.join.set_connect_seq(2);
    *event.join.mutable_node() = InfoOf({.id = "n", .host = "h"});
    Do(event);
  }
  core_->CheckInvariants();
  EXPECT_EQ(Join("more", "n", {.identity = "i"}).limit(), "jobs of one party");
}

class FewNodesTest : public HoldingTest {
 protected:
  FewNodesTest() : HoldingTest(80) {}
};

TEST_F(FewNodesTest, OnePrincipalLeavesRoomForTheNodesOfOthers) {
  ASSERT_EQ(Join("red", "a", {.address = "10.0.0.2"}, 2).text(), "");
  size_t spares = 0;
  v1::Refusal refusal;
  while (spares < 100 && (refusal = Join("red", absl::StrCat("s", spares), {}, 2, true)).text().empty()) ++spares;
  EXPECT_EQ(spares, 69u);
  EXPECT_EQ(refusal.reason(), v1::Refusal::TRY_LATER);
  EXPECT_EQ(refusal.limit(), "nodes of one party");
  EXPECT_THAT(refusal.text(), HasSubstr("address 10.0.0.1 has 69 of the 80 nodes"));
  EXPECT_EQ(Join("red", "b", {.address = "10.0.0.2"}, 2).text(), "");
  core_->CheckInvariants();
}

TEST_F(FewNodesTest, NodesThatLeaveAndThoseOfEndedRunsGiveTheirPlacesBack) {
  for (int round = 0; round < 3; ++round) {
    StreamId first = last_stream_ + 1;
    size_t nodes = 0;
    while (nodes < 100 && Join(absl::StrCat("job", round, "-", nodes), "n", {}).text().empty()) ++nodes;
    EXPECT_EQ(nodes, 70u) << round;
    for (StreamId stream = first; stream < first + nodes; ++stream) Finish(stream);
    core_->CheckInvariants();
  }
}

// A node that comes back to its run needs no second place.
TEST_F(FewNodesTest, PresentNodesStay) {
  for (int i = 0; i < 70; ++i) ASSERT_EQ(Join("red", absl::StrCat("n", i), {}, 100).text(), "");
  ASSERT_EQ(Join("red", "n70", {}, 100).limit(), "nodes of one party");
  EXPECT_EQ(Join("red", "n3", {}, 100).text(), "") << "a challenge";
  now_s_ += 3;
  Do(Tick{});
  core_->CheckInvariants();
}

}  // namespace
}  // namespace muster::scheduler
