#include "common/show/json.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

namespace muster {
namespace {

using nlohmann::json;

TEST(StatusJson, HasStableNamesAndPlainNumbers) {
  v1::StatusReply reply;
  reply.set_cluster_id("c");
  reply.set_term(9'007'199'254'740'993);  // beyond what a double holds
  v1::RunStatus& run = *reply.add_runs();
  run.set_job_id("train");
  run.set_run(2);
  run.set_phase(v1::RUN_PHASE_FORMING);
  run.mutable_settings()->set_worker_num(8);
  run.mutable_waiting()->set_workers_here(7);
  run.mutable_waiting()->set_time_left_ms(-1);
  const json out = json::parse(StatusJson(reply));
  EXPECT_EQ(out["term"].get<uint64_t>(), 9'007'199'254'740'993u);
  EXPECT_EQ(out["is_draining"], false);
  const json& r = out["runs"][0];
  EXPECT_EQ(r["job_id"], "train");
  EXPECT_EQ(r["phase"], "forming");
  EXPECT_EQ(r["round"], 0) << "zeros are printed too";
  EXPECT_EQ(r["settings"]["worker_num"], 8);
  EXPECT_TRUE(r["settings"]["server_num"].is_null());
  EXPECT_EQ(r["waiting"]["workers_here"], 7);
  EXPECT_TRUE(r["waiting"]["time_left_ms"].is_null()) << "no limit";
  EXPECT_TRUE(r["outcome"].is_null());
}

TEST(StatusJson, NamesTheCause) {
  v1::StatusReply reply;
  v1::RunStatus& run = *reply.add_runs();
  v1::Cause& cause = *run.mutable_outcome()->mutable_cause();
  cause.set_kind(v1::Cause::PROCESS_SIGNALED);
  cause.set_rank(0);
  cause.set_role(v1::ROLE_WORKER);
  cause.set_signal(9);
  cause.add_last_lines("bad \xff byte");
  const json out = json::parse(StatusJson(reply));
  const json& c = out["runs"][0]["outcome"]["cause"];
  EXPECT_EQ(c["kind"], "process_signaled");
  EXPECT_TRUE(c["reason"].is_null());
  EXPECT_EQ(c["rank"], 0) << "rank 0 is a rank, not the absence of one";
  EXPECT_EQ(c["signal"], 9);
  EXPECT_EQ(c["last_lines"].size(), 1u);
  cause.set_reason("out_of_memory");
  EXPECT_EQ(json::parse(StatusJson(reply))["runs"][0]["outcome"]["cause"]["reason"], "out_of_memory");
  cause.clear_rank();
  EXPECT_TRUE(json::parse(StatusJson(reply))["runs"][0]["outcome"]["cause"]["rank"].is_null());
}

TEST(StatusJson, SuccessHasNoCause) {
  v1::StatusReply reply;
  reply.add_runs()->mutable_outcome()->set_succeeded(true);
  const json out = json::parse(StatusJson(reply));
  EXPECT_EQ(out["runs"][0]["outcome"]["succeeded"], true);
  EXPECT_TRUE(out["runs"][0]["outcome"]["cause"].is_null());
}

TEST(NodesJson, ListsNodesByJob) {
  NodesOfJob job{"a", {}};
  job.reply.set_run(4);
  v1::NodeStatus& node = *job.reply.add_nodes();
  node.set_node_id("n1");
  node.set_incarnation(0xfedcba9876543210);
  node.set_last_seen_ms(-1);
  node.add_ranks(0);
  node.add_ranks(5);
  const json out = json::parse(NodesJson({job}));
  ASSERT_EQ(out["jobs"].size(), 1u);
  EXPECT_EQ(out["jobs"][0]["job_id"], "a");
  EXPECT_EQ(out["jobs"][0]["run"], 4);
  const json& n = out["jobs"][0]["nodes"][0];
  EXPECT_EQ(n["incarnation"], "fedcba9876543210");
  EXPECT_EQ(n["ranks"], json({0, 5}));
  EXPECT_TRUE(n["last_seen_ms"].is_null());
}

TEST(NodesJson, NoJobsIsAnEmptyList) {
  EXPECT_EQ(json::parse(NodesJson({})), json({{"jobs", json::array()}}));
  EXPECT_EQ(json::parse(RanksJson({})), json({{"jobs", json::array()}}));
}

TEST(RanksJson, ListsRanksWithTheRound) {
  RanksOfJob job{"a", {}};
  job.reply.set_round(1);
  job.reply.set_master_address("10.0.0.1");
  job.reply.set_master_port(29500);
  job.reply.add_ranks()->set_role(v1::ROLE_SERVER);
  const json out = json::parse(RanksJson({job}))["jobs"][0];
  EXPECT_EQ(out["round"], 1);
  EXPECT_EQ(out["master_address"], "10.0.0.1");
  EXPECT_EQ(out["master_port"], 29500);
  EXPECT_EQ(out["ranks"][0]["rank"], 0);
  EXPECT_EQ(out["ranks"][0]["role"], "server");
  EXPECT_TRUE(out["ranks"][0]["pid"].is_null());
}

TEST(EventsJson, ShowsTheEventLog) {
  v1::EventsReply reply;
  EXPECT_EQ(json::parse(EventsJson(reply)), json({{"events", json::array()}}));
  v1::JobEvent& event = *reply.add_events();
  event.set_number(7);
  event.set_kind("node_joined");
  const json out = json::parse(EventsJson(reply))["events"][0];
  EXPECT_EQ(out["number"], 7);
  EXPECT_EQ(out["kind"], "node_joined");
  EXPECT_EQ(out["last_lines"], json::array());
}

TEST(StatusJson, ShowsProgress) {
  v1::StatusReply reply;
  v1::ProgressStatus& progress = *reply.add_runs()->mutable_progress();
  progress.set_watched(2);
  progress.set_slowest_step(0);
  progress.add_slowest_ranks(1);
  const json out = json::parse(StatusJson(reply))["runs"][0]["progress"];
  EXPECT_EQ(out["slowest_step"], 0);
  EXPECT_TRUE(out["fastest_step"].is_null());
  EXPECT_EQ(out["slowest_ranks"], json({1}));
}

TEST(StacksJson, ShowsEachRanksStack) {
  v1::StacksReply reply;
  reply.set_run(2);
  reply.set_round(3);
  v1::RankStack& rank = *reply.add_ranks();
  rank.set_rank(1);
  rank.mutable_stack()->set_text("f (a.py:3)");
  rank.mutable_stack()->set_is_stopped(true);
  const json out = json::parse(StacksJson("a", reply));
  EXPECT_EQ(out["round"], 3);
  EXPECT_EQ(out["ranks"][0]["text"], "f (a.py:3)");
  EXPECT_TRUE(out["ranks"][0]["pid"].is_null());
  EXPECT_TRUE(out["ranks"][0]["note"].is_null());
  EXPECT_EQ(out["ranks"][0]["is_stopped"], true);
}

TEST(StopJson, ShowsThePhaseBefore) {
  v1::StopReply reply;
  reply.set_run(3);
  reply.set_phase(v1::RUN_PHASE_RUNNING);
  EXPECT_EQ(json::parse(StopJson("a", reply)), json({{"job_id", "a"}, {"run", 3}, {"phase", "running"}}));
}

TEST(WatchJson, IsOneDocumentALine) {
  v1::JobEvent event;
  event.set_text("a\nb");
  for (const std::string& line : {EventLineJson(event), RunLineJson(v1::RunStatus())}) {
    EXPECT_EQ(line.find('\n'), line.size() - 1) << line;
    EXPECT_TRUE(json::accept(line)) << line;
  }
}

}  // namespace
}  // namespace muster
