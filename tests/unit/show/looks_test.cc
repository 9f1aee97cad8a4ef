// The output of `nodes --missing`, `top`, `events --since` and `report`.
#include "common/show/looks.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "common/show/report.h"
#include "common/show/since.h"

namespace muster {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

v1::RankStatus Rank(uint32_t rank, std::optional<uint64_t> step, uint64_t since_progress_ms) {
  v1::RankStatus status;
  status.set_rank(rank);
  if (step) status.set_step(*step);
  status.set_since_progress_ms(since_progress_ms);
  return status;
}

v1::NodeStatus NodeSeen(const std::string& id, const std::string& state, int64_t ms) {
  v1::NodeStatus node;
  node.set_node_id(id);
  node.set_state(state);
  node.set_last_seen_ms(ms);
  return node;
}

TEST(Top, SlowestRanksAndLatestNodesComeFirst) {
  v1::RanksReply ranks;
  *ranks.add_ranks() = Rank(0, 9, 100);
  *ranks.add_ranks() = Rank(1, 7, 5000);
  *ranks.add_ranks() = Rank(2, 7, 9000);
  *ranks.add_ranks() = Rank(3, std::nullopt, 99'000);
  ranks.add_ranks()->set_rank(4);  // shows nothing
  v1::NodesReply nodes;
  *nodes.add_nodes() = NodeSeen("a", "connected", 1000);
  *nodes.add_nodes() = NodeSeen("b", "disconnected", 8000);
  *nodes.add_nodes() = NodeSeen("c", "connected", -1);
  *nodes.add_nodes() = NodeSeen("d", "left", 99'000);
  const TopOfJob top = TopOf("train", ranks, nodes, 3);
  ASSERT_EQ(top.slow.size(), 3u);
  EXPECT_EQ(top.slow[0].rank(), 2u);
  EXPECT_EQ(top.slow[1].rank(), 1u);
  EXPECT_EQ(top.slow[2].rank(), 0u);
  ASSERT_EQ(top.late.size(), 3u);
  EXPECT_EQ(top.late[0].node_id(), "c");
  EXPECT_EQ(top.late[1].node_id(), "b");
  EXPECT_THAT(RenderTop({top}), HasSubstr("SLOW RANK  NODE  HOST  STEP  BEHIND  UNCHANGED"));
  EXPECT_EQ(nlohmann::json::parse(TopJson({top}))["jobs"][0]["slow"][0]["step"], 7);
  EXPECT_THAT(RenderTop({TopOf("x", {}, {}, 3)}), HasSubstr("no rank shows progress"));
}

TEST(Missing, NamesThoseThatAreKnownAndCountsTheOthers) {
  NodesOfJob job{"train", {}};
  v1::MissingNodes& missing = *job.reply.mutable_missing();
  missing.mutable_waiting()->set_text("1 of 4 workers are here");
  v1::MissingNode& node = *missing.add_nodes();
  node.set_node_id("b");
  node.set_host_name("host-b\x1b[2J");
  node.set_last_seen_ms(61'000);
  node.set_why("its connection is gone");
  missing.set_workers_unnamed(2);
  v1::RefusedJoin& refused = *missing.add_refused();
  refused.set_node_id("c");
  refused.set_reason("SETTINGS_DIFFER");
  refused.set_text("MS_WORKER_NUM is 8 here");
  refused.set_times(3);
  const std::string text = RenderMissing({job});
  EXPECT_THAT(text, HasSubstr("job train, run 0: 1 of 4 workers are here\n"));
  EXPECT_THAT(text, HasSubstr("1 min ago"));
  EXPECT_THAT(text, HasSubstr("and 2 more workers: it is not known which nodes bring them\n"));
  EXPECT_THAT(text, HasSubstr("MS_WORKER_NUM is 8 here"));
  EXPECT_THAT(text, Not(HasSubstr("\x1b")));
  const auto json = nlohmann::json::parse(MissingJson({job}))["jobs"][0];
  EXPECT_EQ(json["missing"][0]["node_id"], "b");
  EXPECT_EQ(json["workers_unnamed"], 2);
  EXPECT_EQ(json["refused"][0]["times"], 3);
  EXPECT_THAT(RenderMissing({{"train", {}}}), HasSubstr("no node is missing"));
}

TEST(Since, TakesAnAgeOrATime) {
  const absl::Time now = absl::FromUnixMillis(1'000'000'000);
  const absl::TimeZone utc = absl::UTCTimeZone();
  EXPECT_EQ(*ParseSince("", now, utc), 0);
  EXPECT_EQ(*ParseSince("2h", now, utc), 1'000'000'000 - 7'200'000);
  EXPECT_EQ(*ParseSince("1h30m", now, utc), 1'000'000'000 - 5'400'000);
  EXPECT_EQ(*ParseSince("3d", now, utc), 1'000'000'000 - 3 * 86'400'000);
  EXPECT_EQ(*ParseSince("1970-01-02", now, utc), 86'400'000);
  EXPECT_EQ(*ParseSince("1970-01-02T00:00:05", now, utc), 86'405'000);
  EXPECT_EQ(*ParseSince("1970-01-02 00:01", now, utc), 86'460'000);
  EXPECT_EQ(*ParseSince("1970-01-02T01:00:00+01:00", now, utc), 86'400'000);
  for (const char* wrong : {"yesterday", "-2h", "2x", "nand", "infd", "12"}) {
    EXPECT_FALSE(ParseSince(wrong, now, utc).ok()) << wrong;
  }
}

ReportInput FailedRun() {
  ReportInput input;
  input.zone = absl::UTCTimeZone();
  input.run.set_job_id("train");
  input.run.set_run(3);
  input.run.set_phase(v1::RUN_PHASE_FAILED);
  v1::Cause& cause = *input.run.mutable_outcome()->mutable_cause();
  cause.set_text("rank 1 on <host> ended with exit code 1");
  cause.add_last_lines("</pre><script>alert(1)</script>");
  cause.set_node_id("b\" onload=\"x");
  for (int i = 0; i < 3; ++i) {
    v1::JobEvent& event = *input.events.add_events();
    event.set_unix_ms(1'000'000 + 1000 * i);
    event.set_kind(i == 2 ? "run_failed" : "node_joined");
    event.set_text("event " + std::to_string(i) + " & more");
  }
  return input;
}

TEST(Report, HasAllInOneFileAndNothingFromOutside) {
  ReportInput input = FailedRun();
  input.nodes.add_nodes()->set_version("0.2.0");
  input.run.mutable_settings()->set_worker_num(4);
  const std::string html = ReportHtml(input);
  EXPECT_THAT(html, HasSubstr("<h1>job train, run 3: <span class=\"bad\">failed</span></h1>"));
  EXPECT_THAT(html, HasSubstr("rank 1 on &lt;host&gt; ended"));
  EXPECT_THAT(html, HasSubstr("event 2 &amp; more"));
  EXPECT_THAT(html, HasSubstr("<td>ms-worker</td><td>0.2.0</td><td>1</td>"));
  EXPECT_THAT(html, HasSubstr("<td>workers</td><td>4</td>"));
  EXPECT_THAT(html, HasSubstr("prefers-color-scheme: dark"));
  for (const char* outside : {"<script", "http:", "https:", "url(", "src=", "href=", "onload=\""}) {
    EXPECT_THAT(html, Not(HasSubstr(outside))) << outside;
  }
}

TEST(Report, StaysSmallHoweverLargeTheJobIs) {
  ReportInput input = FailedRun();
  for (int i = 0; i < kMaxReportRows + 7; ++i) {
    input.ranks.add_ranks()->set_rank(static_cast<uint32_t>(i));
    input.events.add_events()->set_text("x");
  }
  const std::string html = ReportHtml(input);
  EXPECT_THAT(html, HasSubstr("7 more are left out."));
  EXPECT_THAT(html, HasSubstr("10 earlier events are left out."));
}

}  // namespace
}  // namespace muster
