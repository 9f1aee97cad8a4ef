// Many nodes are lost and come back one by one. No return makes the core look at all other nodes (core_bench measures
// the cost). Still, no decision comes later because of that.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "absl/strings/str_format.h"
#include "scheduler/core/core.h"
#include "scheduler/core/state/node_index.h"
#include "tests/unit/scheduler_core/run_builder.h"

namespace muster::scheduler {
namespace {

using testing::HasSubstr;

Node Lost(const NodeSpec& spec, const std::string& identity = "") {
  Node node;
  Edit(node).id = spec.id;
  Edit(node).info = InfoOf(spec);
  Edit(node).is_lost = Edit(node).is_assigned_id = true;
  Edit(node).identity = identity;
  return node;
}

TEST(LostNodes, TheReplacedNodeIsOnTheSameMachineElseHostElseAnywhere) {
  LostNodes lost;
  lost.Add(Lost({.id = "d", .host = "h", .machine = "m"}));
  lost.Add(Lost({.id = "c", .host = "h", .machine = "other"}));
  lost.Add(Lost({.id = "b", .host = "far", .machine = "away"}));
  lost.Add(Lost({.id = "a", .slots = 2, .host = "h", .machine = "m"}));
  const auto replaced = [&](const NodeSpec& spec) { return lost.FindReplaced(InfoOf(spec), ""); };
  EXPECT_EQ(replaced({.id = "x", .host = "h", .machine = "m"}), "d");
  EXPECT_EQ(replaced({.id = "x", .host = "h", .machine = "new"}), "c");
  EXPECT_EQ(replaced({.id = "x", .host = "new", .machine = "new"}), "b");
  EXPECT_EQ(replaced({.id = "x", .slots = 2, .host = "new", .machine = "new"}), "a");
  EXPECT_EQ(replaced({.id = "x", .slots = 3, .host = "h", .machine = "m"}), "");
  EXPECT_EQ(replaced({.id = "x", .host = "h", .machine = "m", .role = v1::ROLE_SERVER}), "");
}

TEST(LostNodes, TheReplacedNodeHasTheSameIdentity) {
  LostNodes lost;
  lost.Add(Lost({.id = "a", .host = "h"}, "spiffe://m/a"));
  lost.Add(Lost({.id = "b", .host = "h"}, ""));
  EXPECT_EQ(lost.FindReplaced(InfoOf({.id = "x", .host = "h"}), "spiffe://m/a"), "a");
  EXPECT_EQ(lost.FindReplaced(InfoOf({.id = "x", .host = "h"}), "spiffe://m/x"), "b");
  EXPECT_EQ(lost.FindReplaced(InfoOf({.id = "x", .host = "h"}), ""), "b");
}

TEST(LostNodes, OnlyNodesWithAnAssignedIdWhoseProcessesHaveEnded) {
  LostNodes lost, empty;
  Node node = Lost({.id = "a", .host = "h"});
  Edit(node).stale_incarnation = 7;
  lost.Add(node);
  EXPECT_EQ(lost.size(), 1u);
  EXPECT_EQ(lost.FindReplaced(InfoOf({.id = "x", .host = "h"}), ""), "");
  lost.Remove(node);
  Edit(node).stale_incarnation = 0;
  lost.Add(node);
  EXPECT_EQ(lost.FindReplaced(InfoOf({.id = "x", .host = "h"}), ""), "a");
  lost.Remove(node);
  EXPECT_TRUE(lost == empty);
  Edit(node).is_assigned_id = false;
  lost.Add(node);
  EXPECT_EQ(lost.FindReplaced(InfoOf({.id = "x", .host = "h"}), ""), "");
  lost.Remove(node);
  Edit(node).is_lost = false;
  lost.Add(node);
  EXPECT_EQ(lost.size(), 0u);
}

// More nodes than the core looks at in one step.
constexpr uint32_t kNodes = 300;
constexpr uint32_t kLost = 200;

class LargeRunTest : public testing::Test {
 protected:
  LargeRunTest() : core_(Options(), "c") {
    core_.Start(Now{At(now_s_), {}});
    for (uint32_t i = 0; i < kNodes; ++i) Join(i);
    EXPECT_THAT(core_.DebugState(), HasSubstr(" running round 1 "));
    for (uint32_t i = 0; i < kLost; ++i) Lose(i);
    for (uint32_t i = kLost; i < kNodes; ++i) Quit(i);
    core_.CheckInvariants();
    EXPECT_THAT(core_.DebugState(), HasSubstr(" recovering round 1 "));
  }
  static CoreOptions Options() {
    CoreOptions options;
    options.rejoin_timeout = absl::Seconds(60);
    return options;
  }
  static std::string Id(uint32_t node) { return absl::StrFormat("n%03d", node); }
  void Do(const Event& event) { core_.Apply(event, Now{At(now_s_), {}}); }

  void Join(uint32_t node, bool is_spare = false) {
    streams_[node] = ++last_stream_;
    JoinRequested event;
    event.stream = last_stream_;
    event.join.set_job_id("red");
    event.join.set_node_id(Id(node));
    event.join.set_incarnation(last_stream_);
    event.join.set_connect_seq(1);
    event.join.mutable_settings()->set_worker_num(kNodes);
    event.join.mutable_settings()->set_enable_recovery(true);
    *event.join.mutable_node() = InfoOf({.id = Id(node)});
    event.join.mutable_node()->set_spare(is_spare);
    Do(event);
  }
  // The node's keeper has ended the node's processes and reports that.
  void Lose(uint32_t node) {
    LastReportReceived event;
    event.last_report.set_cluster_id("c");
    event.last_report.set_job_id("red");
    event.last_report.set_run(1);
    event.last_report.set_node_id(Id(node));
    event.last_report.set_incarnation(streams_[node]);
    Do(event);
  }
  void Quit(uint32_t node) {
    ReportReceived event;
    event.stream = streams_[node];
    event.report.add_events()->set_number(1);
    event.report.mutable_events(0)->mutable_quit()->set_round(1);
    Do(event);
  }
  // Lets time pass, with heartbeats.
  void PassTo(double s) {
    while (core_.NextDeadline() <= At(s)) {
      now_s_ = std::max(now_s_, absl::ToDoubleSeconds(core_.NextDeadline() - At(0)));
      Do(Tick{});
      core_.CheckInvariants();
    }
    now_s_ = s;
  }

  Core core_;
  double now_s_ = 100;
  StreamId last_stream_ = 0;
  std::map<uint32_t, StreamId> streams_;
};

TEST_F(LargeRunTest, TheLastOneThatComesBackStartsTheNextRoundAtOnce) {
  for (uint32_t i = 0; i < kLost; ++i) {
    EXPECT_THAT(core_.DebugState(), HasSubstr(" recovering round 1 ")) << i;
    Join(i);
    if (i % 50 == 0) core_.CheckInvariants();
  }
  EXPECT_THAT(core_.DebugState(), HasSubstr(" running round 2 "));
}

TEST_F(LargeRunTest, TheLastOneThatQuitsDoesSo) {
  for (uint32_t i = 0; i < kLost; ++i) Join(i);
  now_s_ += 0.2;
  Lose(kLost);
  for (uint32_t i = 0; i < kNodes; ++i) {
    if (i == kLost) continue;
    ReportReceived event;
    event.stream = streams_[i];
    event.report.add_events()->set_number(i > kLost ? 2 : 1);
    event.report.mutable_events(0)->mutable_quit()->set_round(2);
    Do(event);
  }
  Join(kLost);
  PassTo(now_s_ + 2);  // the back-off of a second restart
  EXPECT_THAT(core_.DebugState(), HasSubstr(" running round 3 "));
}

TEST_F(LargeRunTest, AMissingNodeEndsTheRunOnTimeAndAReturnedOneDoesNot) {
  PassTo(130);
  for (uint32_t i = 0; i + 1 < kLost; ++i) Join(i);
  Lose(0);
  PassTo(159.4);
  EXPECT_THAT(core_.DebugState(), HasSubstr(" recovering round 1 "));
  Lose(1);  // the core looks at all of them …
  now_s_ = 159.5;
  Join(kLost - 1);  // … but not again so soon; this one was missing since 100
  PassTo(189.9);
  EXPECT_THAT(core_.DebugState(), HasSubstr(" recovering round 1 ")) << "n000 is missing since 130";
  PassTo(190);
  EXPECT_THAT(core_.DebugState(), HasSubstr(" failed round 1 ")) << "n000 did not come back for 60 s";
}

TEST_F(LargeRunTest, ASpareThatComesIsTakenAtOnce) {
  for (uint32_t i = 0; i + 1 < kLost; ++i) Join(i);
  now_s_ += 0.1;
  Join(kNodes, true);
  EXPECT_THAT(core_.DebugState(), HasSubstr(" running round 2 "));
  EXPECT_THAT(core_.DebugState(), HasSubstr("gone " + Id(kLost - 1)));
}

}  // namespace
}  // namespace muster::scheduler
