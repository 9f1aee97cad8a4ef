#include "scheduler/http/metrics_page.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "absl/strings/str_cat.h"

namespace muster::http {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

scheduler::RunOverview RunOf(const std::string& job, uint64_t number, v1::RunPhase phase) {
  scheduler::RunOverview run;
  run.status.set_job_id(job);
  run.status.set_run(number);
  run.status.set_phase(phase);
  if (phase == v1::RUN_PHASE_FAILED) run.status.mutable_outcome()->set_succeeded(false);
  return run;
}

std::string Page(std::shared_ptr<scheduler::Overview> overview, const std::string& job = "",
                 std::set<std::string> listed = {}) {
  MetricsInput input;
  input.overview = std::move(overview);
  input.counts["tls: expired"] = 7;
  return MetricsPage(input, MetricWriter::Format::kOpenMetrics, job, listed);
}

TEST(MetricsPage, TellsOfJobsByPhaseAndState) {
  auto overview = std::make_shared<scheduler::Overview>();
  scheduler::RunOverview run = RunOf("train", 3, v1::RUN_PHASE_RECOVERING);
  run.nodes = {{"connected", 3}, {"lost", 1}};
  run.ranks = {{"running", 24}};
  run.restarts_left = 2;
  run.status.mutable_waiting()->set_workers_needed(32);
  run.status.mutable_waiting()->set_workers_here(24);
  overview->runs = {RunOf("train", 2, v1::RUN_PHASE_STOPPING), run};
  const std::string page = Page(overview);
  EXPECT_THAT(page, HasSubstr("muster_runs{phase=\"recovering\"} 1\n"));
  EXPECT_THAT(page, HasSubstr("muster_runs{phase=\"stopping\"} 1\n"));
  EXPECT_THAT(page, HasSubstr("muster_runs{phase=\"failed\"} 0\n"));
  EXPECT_THAT(page, HasSubstr("muster_job_phase{job_id=\"train\",phase=\"recovering\"} 1\n"));
  EXPECT_THAT(page, HasSubstr("muster_job_nodes{job_id=\"train\",state=\"lost\"} 1\n"));
  EXPECT_THAT(page, HasSubstr("muster_job_nodes{job_id=\"train\",state=\"disconnected\"} 0\n"));
  EXPECT_THAT(page, HasSubstr("muster_job_ranks{job_id=\"train\",state=\"running\"} 24\n"));
  EXPECT_THAT(page, HasSubstr("muster_job_missing_workers{job_id=\"train\"} 8\n"));
  EXPECT_THAT(page, HasSubstr("muster_job_restarts_left{job_id=\"train\"} 2\n"));
  EXPECT_THAT(page, HasSubstr("muster_refusals_total{reason=\"tls: expired\"} 7\n"));
  EXPECT_THAT(page, HasSubstr("muster_core_answers 1\n"));
}

TEST(MetricsPage, ListsABoundedNumberOfJobsThoseThatRunFirst) {
  auto overview = std::make_shared<scheduler::Overview>();
  for (size_t i = 0; i < 3 * kMaxListedJobs; ++i) {
    overview->runs.push_back(RunOf(absl::StrCat("a", i), 1, v1::RUN_PHASE_FAILED));
  }
  overview->runs.push_back(RunOf("z", 1, v1::RUN_PHASE_RUNNING));
  const std::string page = Page(overview);
  size_t listed = 0;
  for (size_t at = page.find("muster_job_round{"); at != std::string::npos;
       at = page.find("muster_job_round{", at + 1)) {
    ++listed;
  }
  EXPECT_EQ(listed, kMaxListedJobs);
  EXPECT_THAT(page, HasSubstr("muster_job_round{job_id=\"z\"}"));
  EXPECT_THAT(page, HasSubstr(absl::StrCat("muster_unlisted_jobs ", 2 * kMaxListedJobs + 1, "\n")));
  EXPECT_THAT(page, HasSubstr(absl::StrCat("muster_runs{phase=\"failed\"} ", 3 * kMaxListedJobs, "\n")));
}

TEST(MetricsPage, ListsJobsThatWereListedBeforeAndThenLargeOnes) {
  auto overview = std::make_shared<scheduler::Overview>();
  for (size_t i = 0; i < kMaxListedJobs; ++i) {
    overview->runs.push_back(RunOf(absl::StrCat("a", i), 1, v1::RUN_PHASE_RUNNING));
  }
  overview->runs.push_back(RunOf("y-known", 1, v1::RUN_PHASE_RUNNING));
  overview->runs.push_back(RunOf("z-large", 1, v1::RUN_PHASE_RUNNING));
  overview->runs.back().nodes = {{"connected", 100}};
  const std::string page = Page(overview, "", {"y-known"});
  EXPECT_THAT(page, HasSubstr("muster_job_round{job_id=\"y-known\"}"));
  EXPECT_THAT(page, HasSubstr("muster_job_round{job_id=\"z-large\"}"));
  EXPECT_THAT(page, HasSubstr("muster_unlisted_jobs 2\n"));
  EXPECT_THAT(Page(overview), Not(HasSubstr("muster_job_round{job_id=\"y-known\"}")));
}

TEST(MetricsPage, ShowsAViewerOfOneJobThatJobOnly) {
  auto overview = std::make_shared<scheduler::Overview>();
  overview->runs = {RunOf("mine", 1, v1::RUN_PHASE_RUNNING), RunOf("other", 1, v1::RUN_PHASE_RUNNING)};
  const std::string page = Page(overview, "mine");
  EXPECT_THAT(page, HasSubstr("job_id=\"mine\""));
  EXPECT_THAT(page, Not(HasSubstr("\"other")));
  EXPECT_THAT(page, Not(HasSubstr("muster_refusals")));
  EXPECT_THAT(page, Not(HasSubstr("muster_failed_runs")));
  EXPECT_THAT(page, HasSubstr("muster_runs{phase=\"running\"} 1\n"));
}

TEST(MetricsPage, SaysWhatItCanWhileTheCoreCannotAnswer) {
  const std::string page = Page(nullptr);
  EXPECT_THAT(page, HasSubstr("muster_core_answers 0\n"));
  EXPECT_THAT(page, HasSubstr("muster_journal_stalled 0\n"));
  EXPECT_THAT(page, Not(HasSubstr("muster_runs")));
}

TEST(Measures, CountRecordsByWhatBecameOfThem) {
  scheduler::Measures measures;
  v1::Record record;
  record.mutable_round_closed()->set_round(1);
  record.mutable_round_closed()->set_formed_in_ms(1500);
  measures.Note(record);
  record.mutable_round_closed()->set_round(2);
  measures.Note(record);
  record.mutable_round_aborted()->mutable_first()->set_kind(v1::Cause::NODE_LOST);
  measures.Note(record);
  record.mutable_node_lost()->set_why(v1::NodeRemoved::LOST);
  measures.Note(record);
  record.mutable_run_ended()->mutable_outcome()->mutable_cause()->set_kind(v1::Cause::GAVE_UP);
  measures.Note(record);
  record.mutable_run_ended()->mutable_outcome()->mutable_cause()->set_kind(v1::Cause::STOPPED_BY_USER);
  measures.Note(record);
  record.mutable_run_ended()->mutable_outcome()->set_succeeded(true);
  measures.Note(record);
  measures.NoteHeartbeat(absl::Seconds(2.3), absl::Seconds(2));
  measures.NoteHeartbeat(absl::Seconds(1), absl::Seconds(2));
  EXPECT_EQ(measures.form.count(), 1);
  EXPECT_EQ(measures.form.sum(), 1.5);
  EXPECT_EQ(measures.recover.count(), 1);
  EXPECT_EQ(measures.given_up_rounds.at(v1::Cause::NODE_LOST), 1);
  EXPECT_EQ(measures.gone_nodes.at(v1::NodeRemoved::LOST), 1);
  EXPECT_EQ(measures.failed_runs.at(v1::Cause::GAVE_UP), 1);
  EXPECT_EQ(measures.failed_runs.size(), 1) << "a stopped run has not failed";
  EXPECT_EQ(measures.stopped_runs, 1);
  EXPECT_EQ(measures.succeeded_runs, 1);
  EXPECT_EQ(measures.heartbeat_lateness.counts()[0], 1) << "one that came early is not late";
  EXPECT_EQ(measures.heartbeat_lateness.counts()[3], 1);
}

}  // namespace
}  // namespace muster::http
