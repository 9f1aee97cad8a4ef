// Cases that a script can't express well: limits, large numbers, clocks.
#include "scheduler/core/core.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"
#include "common/base/limits.h"
#include "common/base/sha256.h"
#include "tests/unit/scheduler_core/run_builder.h"

namespace muster::scheduler {
namespace {

using testing::HasSubstr;

class CoreTest : public testing::Test {
 protected:
  void Begin(CoreOptions options = {}) {
    core_ = std::make_unique<Core>(std::move(options), "c");
    core_->Start(TimeNow());
  }
  Now TimeNow() const { return {At(now_s_), {1'700'000'000'000}}; }

  Effects Do(const Event& event) {
    Effects effects = core_->Apply(event, TimeNow());
    return effects;
  }
  // Each join is a new agent on a new stream.
  Effects Join(const std::string& job, const std::string& node, uint32_t worker_num, bool is_spare = false) {
    JoinRequested event;
    event.stream = ++last_stream_;
    event.join.set_job_id(job);
    event.join.set_node_id(node);
    event.join.set_incarnation(last_stream_);
    event.join.set_connect_seq(1);
    event.join.mutable_settings()->set_worker_num(worker_num);
    *event.join.mutable_node() = InfoOf({.id = node, .host = "h"});
    event.join.mutable_node()->set_spare(is_spare);
    event.peer_address = from_;
    return Do(event);
  }
  Effects Report(StreamId stream, bool is_settled = false) {
    ReportReceived event;
    event.stream = stream;
    event.report.set_is_settled(is_settled);
    return Do(event);
  }
  // The one process of the node on this stream ends, in round 1.
  Effects End(StreamId stream, int exit_code, uint64_t number = 1) {
    ReportReceived event;
    event.stream = stream;
    v1::NodeEvent& fact = *event.report.add_events();
    fact.set_number(number);
    fact.mutable_ended()->set_round(1);
    fact.mutable_ended()->set_exit_code(exit_code);
    return Do(event);
  }

  template <typename Kind>
  static std::vector<Kind> All(const Effects& effects) {
    std::vector<Kind> all;
    for (const Effect& effect : effects) {
      if (const auto* one = std::get_if<Kind>(&effect)) all.push_back(*one);
    }
    return all;
  }
  static std::string RefusalIn(const Effects& effects) {
    for (const Send& send : All<Send>(effects)) {
      if (send.message->has_refusal()) return send.message->refusal().text();
    }
    return "";
  }
  static v1::Welcome WelcomeIn(const Effects& effects) {
    for (const Send& send : All<Send>(effects)) {
      if (send.message->has_welcome()) return send.message->welcome();
    }
    return {};
  }

  std::unique_ptr<Core> core_;
  std::string from_ = "10.0.0.1";
  StreamId last_stream_ = 0;
  double now_s_ = 100;
};

TEST_F(CoreTest, TimeThatFallsIsNotBelieved) {
  Begin();
  Join("red", "a", 2);
  now_s_ = 200;
  Do(Tick{});
  const MonotonicTime next = core_->NextDeadline();
  now_s_ = 50;
  Report(1);
  EXPECT_GE(core_->NextDeadline(), next);
  now_s_ = 200 + 599;
  EXPECT_TRUE(All<CloseStream>(Do(Tick{})).empty()) << "the lease counts from the highest time seen";
}

TEST_F(CoreTest, HeartbeatsNeverTakeMoreThanAThirdOfTheLease) {
  CoreOptions options;
  options.lease = absl::Seconds(3);
  Begin(options);
  EXPECT_EQ(WelcomeIn(Join("red", "a", 2)).heartbeat_interval_ms(), 1000u);
}

TEST_F(CoreTest, ManyAgentsBeatMoreSlowly) {
  Begin();
  for (int i = 0; i <= 1000; ++i) Join("red", absl::StrCat("n", i), 2000);
  EXPECT_EQ(WelcomeIn(Join("red", "last", 2000)).heartbeat_interval_ms(), 5000u);
  const Effects effects = Report(1);
  EXPECT_EQ(All<Send>(effects).at(0).message->acknowledgement().heartbeat_interval_ms(), 5000u);
}

TEST_F(CoreTest, ThePublishedPeersAreThoseOfTheDigestAndAreDurableFirst) {
  Begin();
  Join("red", "a", 2);
  const Effects effects = Join("red", "b", 2);
  const auto published = All<PublishPeers>(effects);
  ASSERT_EQ(published.size(), 1u);
  const std::string expected = Sha256(*published[0].peer_list);
  bool is_durable = false;
  int assignments = 0;
  for (const Effect& effect : effects) {
    if (const auto* persist = std::get_if<Persist>(&effect)) is_durable |= persist->record.has_round_closed();
    const auto* send = std::get_if<Send>(&effect);
    if (send == nullptr || !send->message->desired().has_assignment()) continue;
    ++assignments;
    EXPECT_EQ(send->message->desired().peers_digest(), expected);
    EXPECT_TRUE(is_durable) << "a rank was handed out before it was persisted";
    EXPECT_FALSE(send->is_urgent) << "what starts a process must wait for the journal";
  }
  EXPECT_EQ(assignments, 2);
}

// A stop is urgent only once it is certain that its message does not overtake the welcome.
TEST_F(CoreTest, AStopIsUrgentForEveryNodeThatHasReported) {
  Begin();
  Join("red", "a", 2);
  Join("red", "b", 2);
  int urgent = 0;
  for (const Send& send : All<Send>(End(1, 1))) {
    if (send.message->desired().phase() == v1::RUN_PHASE_STOPPING) urgent += send.is_urgent ? 1 : 0;
  }
  EXPECT_EQ(urgent, 1);
}

TEST_F(CoreTest, WaitingIsReportedOnceASecondOrWhenANodeComes) {
  Begin();
  Join("red", "a", 3);
  const auto text = [&] { return All<Send>(Report(1)).at(0).message->acknowledgement().waiting().text(); };
  EXPECT_THAT(text(), HasSubstr("30 min left"));
  now_s_ += 0.5;
  EXPECT_THAT(text(), HasSubstr("30 min left"));
  now_s_ += 0.6;
  EXPECT_THAT(text(), HasSubstr("29 min 59 s left"));
  Join("red", "b", 3);
  EXPECT_THAT(text(), HasSubstr("2 of 3 workers"));
}

TEST_F(CoreTest, JobsThatAreOverMakeRoomForNewOnes) {
  Begin();
  for (size_t i = 0; i < kMaxJobs; ++i) {
    Join(absl::StrCat("job", i), "a", 1);
    if (i == 7) continue;  // this one goes on
    End(last_stream_, 0);
    Report(last_stream_, true);
  }
  for (int i = 0; i < 20; ++i) EXPECT_EQ(RefusalIn(Join(absl::StrCat("new", i), "a", 1)), "");
  core_->CheckInvariants();
  EXPECT_THAT(core_->DebugState(), HasSubstr("job job7 "));
}

TEST_F(CoreTest, JobsThatAreBusyDoNot) {
  Begin();
  for (size_t i = 0; i < kMaxJobs; ++i) {
    from_ = absl::StrCat("10.0.", i % 250, ".", i / 250);
    EXPECT_EQ(RefusalIn(Join(absl::StrCat("job", i), "a", 2)), "");
  }
  from_ = "10.1.0.1";
  EXPECT_THAT(RefusalIn(Join("one-more", "a", 2)), HasSubstr(absl::StrCat(kMaxJobs, " jobs")));
  EXPECT_EQ(RefusalIn(Join("job3", "b", 2)), "") << "those that are there go on";
}

TEST_F(CoreTest, TheMemoryOfGoneNodesIsBounded) {
  Begin();
  Join("red", "stays", 2);
  for (int i = 0; i < 300; ++i) {
    Join("red", absl::StrCat("n", i), 3 - 1, true);
    ReportReceived leaving;
    leaving.stream = last_stream_;
    leaving.report.add_events()->set_number(1);
    leaving.report.mutable_events(0)->mutable_leaving()->set_is_quiet(true);
    Do(leaving);
    core_->CheckInvariants();
  }
  v1::NodesRequest request;
  const Effects effects = Do(QueryReceived{1, request});
  EXPECT_LE(std::get<v1::NodesReply>(All<Answer>(effects).at(0).reply).total(), 257u);
}

TEST_F(CoreTest, TheEventLogIsBoundedAndItsNumbersRise) {
  Begin();
  for (size_t i = 0; i < kMaxLoggedEvents / 4 + 100; ++i) {
    Join("red", "a", 1);
    End(last_stream_, 0);
  }
  v1::EventsRequest request;
  const Effects effects = Do(QueryReceived{1, request});
  const auto reply = std::get<v1::EventsReply>(All<Answer>(effects).at(0).reply);
  ASSERT_EQ(reply.events_size(), 1000);
  EXPECT_GT(reply.events(0).number(), 1u) << "the oldest are forgotten";
  for (int i = 1; i < reply.events_size(); ++i) EXPECT_EQ(reply.events(i).number(), reply.events(i - 1).number() + 1);
}

TEST_F(CoreTest, QueriesPageThroughRanksAndNodes) {
  Begin();
  for (int i = 0; i < 5; ++i) Join("red", absl::StrCat(i), 5);
  v1::RanksRequest ranks;
  ranks.set_offset(3);
  ranks.set_limit(10);
  const auto some = std::get<v1::RanksReply>(All<Answer>(Do(QueryReceived{1, ranks})).at(0).reply);
  ASSERT_EQ(some.ranks_size(), 2);
  EXPECT_EQ(some.ranks(0).rank(), 3u);
  EXPECT_EQ(some.total(), 5u);
  ranks.set_offset(99);
  EXPECT_EQ(std::get<v1::RanksReply>(All<Answer>(Do(QueryReceived{2, ranks})).at(0).reply).ranks_size(), 0);
  v1::NodesRequest nodes;
  nodes.set_offset(1);
  nodes.set_limit(2);
  const auto page = std::get<v1::NodesReply>(All<Answer>(Do(QueryReceived{3, nodes})).at(0).reply);
  ASSERT_EQ(page.nodes_size(), 2);
  EXPECT_EQ(page.nodes(0).node_id(), "1");
}

TEST_F(CoreTest, EventsOfOneJobAfterANumber) {
  Begin();
  Join("red", "a", 2);
  Join("blue", "a", 2);
  v1::EventsRequest request;
  request.set_job_id("blue");
  request.set_after(3);
  const auto reply = std::get<v1::EventsReply>(All<Answer>(Do(QueryReceived{1, request})).at(0).reply);
  ASSERT_EQ(reply.events_size(), 1);
  EXPECT_EQ(reply.events(0).kind(), "node_joined");
}

TEST_F(CoreTest, AnEventOfAnUnknownKindIsTakenByItsNumberAlone) {
  Begin();
  Join("j", "n1", 1);
  ReportReceived event;
  event.stream = 1;
  ASSERT_TRUE(event.report.add_events()->ParseFromString("\xfa\x3f\x02hi"));  // field 1023: a newer agent's
  event.report.mutable_events(0)->set_number(1);
  const Effects effects = Do(event);
  ASSERT_EQ(All<Persist>(effects).size(), 1u);
  v1::NodeEvent number_alone;
  number_alone.set_number(1);
  EXPECT_EQ(All<Persist>(effects)[0].record.node_reported().events(0).SerializeAsString(),
            number_alone.SerializeAsString());
  ASSERT_EQ(All<Send>(effects).size(), 1u);
  EXPECT_EQ(All<Send>(effects)[0].message->acknowledgement().events_through(), 1u);
  EXPECT_EQ(All<Send>(End(1, 3, 2)).empty(), false) << "what comes after it is taken";
}

}  // namespace
}  // namespace muster::scheduler
