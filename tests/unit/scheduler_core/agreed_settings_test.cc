#include "scheduler/core/places/agreed_settings.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/unit/scheduler_core/run_builder.h"

namespace muster::scheduler {
namespace {

using testing::HasSubstr;

TEST(CheckSettings, ADifferenceIsNamedWithBothValuesAndTheNodeThatSetIt) {
  struct Case {
    const char* name;
    void (*set)(v1::JobSettings&, bool);
    const char* mine;
    const char* yours;
  };
  const std::vector<Case> table = {
      {"MS_WORKER_NUM", [](v1::JobSettings& s, bool mine) { s.set_worker_num(mine ? 4 : 8); }, "4", "8"},
      {"MS_SERVER_NUM", [](v1::JobSettings& s, bool mine) { s.set_server_num(mine ? 1 : 2); }, "1", "2"},
      {"MS_ENABLE_RECOVERY", [](v1::JobSettings& s, bool mine) { s.set_enable_recovery(mine); }, "1", "0"},
      {"preflight", [](v1::JobSettings& s, bool mine) { s.set_preflight(mine ? "ring" : "none"); }, "ring", "none"},
      {"MS_HCCL_CM_INIT", [](v1::JobSettings& s, bool mine) { s.set_hccl_cm_init(mine); }, "1", "0"},
      {"RANK_TABLE_FILE", [](v1::JobSettings& s, bool mine) { s.set_rank_table_digest(mine ? "aa" : "bb"); }, "aa",
       "bb"},
  };
  for (const Case& c : table) {
    scheduler::Run run = RunOf(0);
    c.set(Edit(run).settings, false);
    c.set(Edit(AddNode(run, {.id = "a", .address = "10.0.0.7"})).settings, false);
    v1::Join join = JoinOf({.id = "b"});
    c.set(*join.mutable_settings(), true);
    const auto refusal = CheckSettings(run, {}, join);
    ASSERT_TRUE(refusal.has_value()) << c.name;
    EXPECT_EQ(refusal->reason(), v1::Refusal::SETTINGS_DIFFER);
    EXPECT_THAT(refusal->text(), HasSubstr(c.name));
    EXPECT_THAT(refusal->text(), HasSubstr(std::string(" is ") + c.mine + " on node b (host-b) but " + c.yours));
    EXPECT_THAT(refusal->text(), HasSubstr("as set by node a (host-a, 10.0.0.7)"));
    EXPECT_THAT(TextOf(CheckSettings(run, {.rules = run.record().settings}, join)),
                HasSubstr("as set by the scheduler"));
  }
}

TEST(CheckSettings, WhatIsNotSaidAgreesWithAnything) {
  scheduler::Run run = RunOf(8, 1);
  Edit(run).settings.set_enable_recovery(true);
  EXPECT_EQ(TextOf(CheckSettings(run, {}, JoinOf({.id = "a"}))), "welcome");
  v1::Join join = JoinOf({.id = "a"});
  join.mutable_settings()->set_hccl_cm_init(true);
  join.mutable_settings()->set_worker_num(8);
  EXPECT_EQ(TextOf(CheckSettings(run, {}, join)), "welcome");
}

TEST(CheckSettings, TheNumberOfWorkersMustBeKnown) {
  for (const v1::Role role : {v1::ROLE_WORKER, v1::ROLE_SERVER}) {
    v1::Join join = JoinOf({.id = "a", .role = role});
    join.mutable_settings()->set_server_num(1);
    EXPECT_THAT(TextOf(CheckSettings(RunOf(0), {}, join)), HasSubstr("MS_WORKER_NUM (--worker_num) is set neither"));
    join.mutable_settings()->set_worker_num(0);
    EXPECT_THAT(TextOf(CheckSettings(RunOf(0), {}, join)), HasSubstr("MS_WORKER_NUM (--worker_num) is set neither"));
    join.mutable_settings()->set_worker_num(2);
    EXPECT_EQ(TextOf(CheckSettings(RunOf(0), {}, join)), "welcome");
  }
}

TEST(CheckSettings, AServerWhereNoneAreNeeded) {
  EXPECT_THAT(TextOf(CheckSettings(RunOf(2), {}, JoinOf({.id = "s", .role = v1::ROLE_SERVER}))),
              HasSubstr("set MS_SERVER_NUM"));
}

TEST(SettingsWithout, ForgetsWhatOnlyTheLeaverSaid) {
  scheduler::Run run = RunOf(8);
  Edit(run).settings.set_enable_recovery(true);
  Edit(run).settings.set_hccl_cm_init(true);
  v1::JobSettings& leaver = Edit(AddNode(run, {.id = "a"})).settings;
  leaver.set_worker_num(8);
  leaver.set_enable_recovery(true);
  OwnSettings own;
  own.rules.set_server_num(1);
  EXPECT_EQ(SettingsWithout(own, run, "a").ShortDebugString(), own.rules.ShortDebugString());

  Edit(AddNode(run, {.id = "b"})).settings.set_hccl_cm_init(true);
  const v1::JobSettings rest = SettingsWithout(own, run, "a");
  EXPECT_EQ(rest.worker_num(), 8u) << "b came in under it";
  EXPECT_TRUE(rest.hccl_cm_init());
  EXPECT_FALSE(rest.has_enable_recovery());
  EXPECT_EQ(rest.server_num(), 1u);
}

v1::JobSettings Workers(uint32_t number) {
  v1::JobSettings settings;
  settings.set_worker_num(number);
  return settings;
}

TEST(CheckSettings, ARuleIsNamedByWhereItWasSet) {
  const OwnSettings own = {.rules = Workers(8), .sources = {{"worker_num", "--worker-num"}}};
  v1::Join join = JoinOf({.id = "a"});
  join.mutable_settings()->set_worker_num(4);
  const std::string text = TextOf(CheckSettings(RunOf(8), own, join));
  EXPECT_THAT(text, HasSubstr("but 8 as set by the scheduler (--worker-num)"));
  EXPECT_THAT(text, HasSubstr("started without it lets each job choose its own value"));
}

TEST(CheckSettings, ADefaultGivesWayWhileTheRunForms) {
  const OwnSettings own = {.defaults = Workers(8), .sources = {{"worker_num", "MS_WORKER_NUM"}}};
  scheduler::Run run = RunOf(8);
  AddNode(run, {.id = "says-nothing"});
  v1::Join join = JoinOf({.id = "a"});
  join.mutable_settings()->set_worker_num(4);
  join.mutable_settings()->set_enable_recovery(true);
  EXPECT_EQ(TextOf(CheckSettings(run, own, join)), "welcome");
  EXPECT_EQ(AgreedSettings(run, join.settings()).worker_num(), 4u);
  EXPECT_TRUE(AgreedSettings(run, join.settings()).enable_recovery());

  Edit(run).round = 1;
  const std::string text = TextOf(CheckSettings(run, own, join));
  EXPECT_THAT(text, HasSubstr("but 8 as set by default of the scheduler (MS_WORKER_NUM), and the job runs with that"));
}

TEST(CheckSettings, ADefaultStaysWhereSomebodyCameInUnderIt) {
  const OwnSettings own = {.defaults = Workers(8)};
  {
    scheduler::Run run = RunOf(8);
    AddNode(run, {.id = "wide", .slots = 4});
    v1::Join join = JoinOf({.id = "a"});
    join.mutable_settings()->set_worker_num(2);
    EXPECT_THAT(TextOf(CheckSettings(run, own, join)), HasSubstr("nodes that have joined would have no place then"));
  }
  {
    scheduler::Run run = RunOf(8);
    AddNode(run, {.id = "5"});
    v1::Join join = JoinOf({.id = "0"});
    join.mutable_settings()->set_worker_num(4);
    EXPECT_THAT(TextOf(CheckSettings(run, own, join)), HasSubstr("nodes that have joined would have no place then"));
    join.mutable_settings()->set_worker_num(6);
    EXPECT_EQ(TextOf(CheckSettings(run, own, join)), "welcome");
  }
}

TEST(FirstSettings, RulesThenTheJoinThenDefaults) {
  OwnSettings own;
  own.rules.set_max_restarts(1);
  own.defaults.set_worker_num(8);
  own.defaults.set_enable_recovery(true);
  v1::JobSettings joins = Workers(4);
  joins.set_max_restarts(5);
  const v1::JobSettings first = FirstSettings(own, joins);
  EXPECT_EQ(first.max_restarts(), 1u);
  EXPECT_EQ(first.worker_num(), 4u);
  EXPECT_TRUE(first.enable_recovery());
}

TEST(AgreedSettings, TheWaitGoesOnAsItBegan) {
  scheduler::Run run = RunOf(8);
  Edit(run).settings.set_topo_timeout_ms(1000);
  v1::JobSettings joins;
  joins.set_topo_timeout_ms(9000);
  EXPECT_EQ(AgreedSettings(run, joins).topo_timeout_ms(), 1000);
}

}  // namespace
}  // namespace muster::scheduler
