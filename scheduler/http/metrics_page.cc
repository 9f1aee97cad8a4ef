#include "scheduler/http/metrics_page.h"

#include <algorithm>
#include <tuple>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/string_view.h"
#include "common/base/version.h"
#include "common/show/words.h"

namespace muster::http {
namespace {

using scheduler::RunOverview;
using Type = MetricWriter::Type;

bool IsOver(const RunOverview& run) { return run.status.has_outcome(); }

double Seconds(int64_t ms) { return static_cast<double>(ms) / 1000; }

double UnixSeconds(absl::Time time) { return Seconds(absl::ToUnixMillis(time)); }

uint64_t NodesOf(const RunOverview& run) {
  uint64_t nodes = 0;
  for (const auto& [state, count] : run.nodes) nodes += count;
  return nodes;
}

// Returns the latest run of each job, or only of `job` if it is set. The order is that of kMaxListedJobs' comment.
std::vector<const RunOverview*> LatestRuns(const scheduler::Overview& overview, const std::string& job,
                                           const std::set<std::string>& listed) {
  std::map<std::string, const RunOverview*> latest;
  for (const RunOverview& run : overview.runs) {
    if (!job.empty() && run.status.job_id() != job) continue;
    const RunOverview*& known = latest[run.status.job_id()];
    if (known == nullptr || known->status.run() < run.status.run()) known = &run;
  }
  std::vector<const RunOverview*> runs;
  for (const auto& [id, run] : latest) runs.push_back(run);
  const auto rank_of = [&listed](const RunOverview& run) {
    return std::make_tuple(!IsOver(run), listed.contains(run.status.job_id()), NodesOf(run));
  };
  std::stable_sort(runs.begin(), runs.end(),
                   [&](const RunOverview* a, const RunOverview* b) { return rank_of(*a) > rank_of(*b); });
  return runs;
}

Labels JobLabel(const RunOverview& run) { return {{"job_id", run.status.job_id()}}; }

template <typename ValueOf>
void EachJob(MetricWriter& out, const std::vector<const RunOverview*>& runs, absl::string_view name,
             absl::string_view unit, absl::string_view help, const ValueOf& value_of) {
  out.Begin(name, Type::kGauge, unit, help);
  for (const RunOverview* run : runs) out.Add(static_cast<double>(value_of(*run)), JobLabel(*run));
}

void ByState(MetricWriter& out, const std::vector<const RunOverview*>& runs, absl::string_view name,
             absl::string_view help, const std::vector<std::string>& states,
             std::map<std::string, uint32_t> RunOverview::*counts) {
  out.Begin(name, Type::kGauge, "", help);
  for (const RunOverview* run : runs) {
    for (const std::string& state : states) {
      const auto found = (run->*counts).find(state);
      Labels labels = JobLabel(*run);
      labels.emplace_back("state", state);
      out.Add(found == (run->*counts).end() ? 0 : found->second, labels);
    }
  }
}

int64_t MissingWorkers(const RunOverview& run) {
  if (!run.status.has_waiting()) return 0;
  const v1::WaitStatus& waiting = run.status.waiting();
  return std::max<int64_t>(0, int64_t{waiting.workers_needed()} - int64_t{waiting.workers_here()});
}

void AddJobs(MetricWriter& out, const scheduler::Overview& overview, const std::string& job,
             std::set<std::string>& listed) {
  std::map<std::string, uint64_t> phases = {{"stopped", 0}};
  for (int phase = v1::RUN_PHASE_FORMING; v1::RunPhase_IsValid(phase); ++phase) {
    phases[PhaseWord(static_cast<v1::RunPhase>(phase))] = 0;
  }
  for (const RunOverview& run : overview.runs) {
    if (job.empty() || run.status.job_id() == job) ++phases[PhaseWord(run.status)];
  }
  out.Begin("muster_runs", Type::kGauge, "", "Runs that have not ended or are their job's latest, by phase.");
  for (const auto& [phase, count] : phases) out.Add(static_cast<double>(count), {{"phase", phase}});

  std::vector<const RunOverview*> runs = LatestRuns(overview, job, listed);
  const size_t unlisted = runs.size() - std::min(runs.size(), kMaxListedJobs);
  runs.resize(runs.size() - unlisted);
  if (job.empty()) {
    listed.clear();
    for (const RunOverview* run : runs) listed.insert(run->status.job_id());
  }
  out.Gauge("muster_unlisted_jobs", "", "Jobs without metrics of their own, because there are too many.",
            static_cast<double>(unlisted));
  out.Begin("muster_job_phase", Type::kGauge, "", "1 for the phase that the job's latest run is in.");
  for (const RunOverview* run : runs) {
    Labels labels = JobLabel(*run);
    labels.emplace_back("phase", PhaseWord(run->status));
    out.Add(1, labels);
  }
  ByState(out, runs, "muster_job_nodes", "The job's nodes, by state.", {"connected", "disconnected", "lost", "settled"},
          &RunOverview::nodes);
  ByState(out, runs, "muster_job_ranks", "The job's processes, by state.",
          {"assigned", "running", "done", "failed", "stopped"}, &RunOverview::ranks);
  EachJob(out, runs, "muster_job_spares", "", "Spare nodes that stand by.",
          [](const RunOverview& run) { return run.status.spares(); });
  EachJob(out, runs, "muster_job_draining_nodes", "", "Nodes that leave at the next round.",
          [](const RunOverview& run) { return run.draining_nodes; });
  EachJob(out, runs, "muster_job_missing_workers", "", "Workers that the next round still waits for.", MissingWorkers);
  EachJob(out, runs, "muster_job_round", "", "The number of the latest round.",
          [](const RunOverview& run) { return run.status.round(); });
  EachJob(out, runs, "muster_job_restarts", "", "Restarts in this run.",
          [](const RunOverview& run) { return run.status.restart_count(); });
  EachJob(out, runs, "muster_job_restarts_left", "", "Restarts that the budget of this hour still has.",
          [](const RunOverview& run) { return run.restarts_left; });
  EachJob(
      out, runs, "muster_job_since_progress_seconds", "seconds",
      "Time since the progress of any process changed; 0 if no process reports progress.",
      [](const RunOverview& run) { return Seconds(static_cast<int64_t>(run.status.progress().since_progress_ms())); });
  EachJob(out, runs, "muster_job_store_bytes", "bytes", "The size of the job's store.",
          [](const RunOverview& run) { return run.store_bytes; });
}

template <typename Kind>
void ByCause(MetricWriter& out, absl::string_view name, absl::string_view help, absl::string_view label,
             const std::map<Kind, uint64_t>& counts, const std::string& (*name_of)(Kind)) {
  out.Begin(name, Type::kCounter, "", help);
  for (const auto& [kind, count] : counts) {
    out.Add(static_cast<double>(count), {{label, absl::AsciiStrToLower(name_of(kind))}});
  }
}

void AddMeasures(MetricWriter& out, const scheduler::Measures& measures) {
  ByCause(out, "muster_failed_runs", "Runs that failed, by cause.", "cause", measures.failed_runs,
          &v1::Cause::Kind_Name<v1::Cause::Kind>);
  ByCause(out, "muster_given_up_rounds", "Rounds that were given up and are followed by another, by cause.", "cause",
          measures.given_up_rounds, &v1::Cause::Kind_Name<v1::Cause::Kind>);
  ByCause(out, "muster_gone_nodes", "Nodes that left their job or were lost, by the reason.", "why",
          measures.gone_nodes, &v1::NodeRemoved::Why_Name<v1::NodeRemoved::Why>);
  out.Counter("muster_succeeded_runs", "", "Runs that succeeded.", static_cast<double>(measures.succeeded_runs));
  out.Counter("muster_stopped_runs", "", "Runs that were stopped on purpose before they were done.",
              static_cast<double>(measures.stopped_runs));
  out.Counter("muster_restarted_processes", "", "Processes that were started again within their round.",
              static_cast<double>(measures.restarted_processes));
  out.Begin("muster_form_seconds", Type::kHistogram, "seconds", "Time from a run's opening to its first round.");
  out.Add(measures.form);
  out.Begin("muster_recover_seconds", Type::kHistogram, "seconds", "Time from the end of a round to the next round.");
  out.Add(measures.recover);
  out.Begin("muster_heartbeat_lateness_seconds", Type::kHistogram, "seconds",
            "How late heartbeats came, measured from the end of their interval.");
  out.Add(measures.heartbeat_lateness);
}

void AddLoop(MetricWriter& out, const MetricsInput& input) {
  out.Gauge("muster_queue_events", "", "Events that wait for the scheduler's loop.",
            static_cast<double>(input.queue_length));
  out.Begin("muster_loop_wait_seconds", Type::kHistogram, "seconds", "How long events waited for the loop.");
  out.Add(input.loop.wait);
  out.Counter("muster_loop_lost_seconds", "seconds", "Time in which the loop could not run.",
              absl::ToDoubleSeconds(input.loop.lost));
  out.Begin("muster_journal_append_seconds", Type::kHistogram, "seconds",
            "How long it took until records were durable.");
  out.Add(input.loop.append);
  out.Gauge("muster_journal_bytes", "bytes",
            "The approximate size of the journal's last snapshot and the records since.",
            static_cast<double>(input.loop.journal_bytes));
  out.Gauge("muster_journal_stalled", "", "1 while there is no room on the journal's disk.",
            input.loop.is_journal_stalled ? 1 : 0);
  out.Counter("muster_journal_snapshots", "", "Snapshots that were written.",
              static_cast<double>(input.loop.snapshots));
  out.Begin("muster_journal_last_snapshot_timestamp_seconds", Type::kGauge, "seconds",
            "When the last snapshot was written; no sample before the first one since the start.");
  if (input.loop.snapshots > 0) out.Add(Seconds(input.loop.last_snapshot.unix_ms));
}

void AddRefusals(MetricWriter& out, const std::map<std::string, uint64_t>& counts) {
  out.Begin("muster_refusals", Type::kCounter, "", "Requests and connections that were refused or cut off, by reason.");
  for (const auto& [reason, count] : counts) out.Add(static_cast<double>(count), {{"reason", reason}});
}

void AddConnections(MetricWriter& out, const MetricsInput& input) {
  out.Gauge("muster_open_streams", "", "Agents' open streams.", static_cast<double>(input.open_streams));
  out.Gauge("muster_http_connections", "", "Connections to this port.", static_cast<double>(input.http_connections));
  out.Begin("muster_certificate_end_timestamp_seconds", Type::kGauge, "seconds",
            "When the scheduler's certificate ends; no sample without TLS.");
  if (input.certificate_end != absl::InfiniteFuture()) out.Add(UnixSeconds(input.certificate_end));
  out.Begin("muster_revocation_list_end_timestamp_seconds", Type::kGauge, "seconds",
            "When the first of the revocation lists ends; no sample if none of them ends.");
  if (input.list_end != absl::InfiniteFuture()) out.Add(UnixSeconds(input.list_end));
}

void AddProcess(MetricWriter& out, const ProcessFacts& process) {
  out.Counter("process_cpu_seconds", "seconds", "Processor time of the scheduler.", process.cpu_seconds);
  out.Gauge("process_start_time_seconds", "seconds", "When the scheduler started.", process.start_unix_seconds);
  out.Gauge("process_resident_memory_bytes", "bytes", "Resident memory of the scheduler.",
            static_cast<double>(process.resident_bytes));
  out.Gauge("process_open_fds", "", "Open file descriptors of the scheduler.",
            static_cast<double>(process.open_descriptors));
  out.Gauge("process_max_fds", "", "Limit of the scheduler's open file descriptors.",
            static_cast<double>(process.max_descriptors));
  out.Gauge("process_threads", "", "Threads of the scheduler.", static_cast<double>(process.threads));
}

}  // namespace

std::string MetricsPage(const MetricsInput& input, MetricWriter::Format format, const std::string& job,
                        std::set<std::string>& listed) {
  MetricWriter out(format);
  out.Begin("muster_build_info", Type::kGauge, "", "Always 1; the label is the scheduler's version.");
  out.Add(1, {{"version", kVersion}});
  out.Gauge("muster_ready", "", "1 while /readyz answers 200.", input.is_ready ? 1 : 0);
  out.Gauge("muster_core_answers", "",
            "1 if this page has the metrics of jobs; 0 if it lacks them: the disk is full, or the loop stands still.",
            input.overview != nullptr ? 1 : 0);
  if (input.overview != nullptr) {
    out.Counter("muster_terms", "", "How often a scheduler started on this journal.",
                static_cast<double>(input.overview->term));
    AddJobs(out, *input.overview, job, listed);
    if (job.empty()) AddMeasures(out, input.overview->measures);
  }
  AddLoop(out, input);
  if (job.empty()) AddRefusals(out, input.counts);
  AddConnections(out, input);
  AddProcess(out, input.process);
  return out.Finish();
}

}  // namespace muster::http
