// The page /metrics; docs/monitoring.md lists its metrics. Pure.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <string>

#include "absl/time/time.h"
#include "scheduler/core/views/overview.h"
#include "scheduler/http/metric_writer.h"
#include "scheduler/http/process_facts.h"
#include "scheduler/loop/loop.h"

namespace muster::http {

// At most so many jobs have metrics of their own, so that the page stays small. Jobs that have not ended are preferred;
// next, jobs that had metrics of their own on the last page; next, jobs with more nodes. All other jobs are only part
// of the sums.
inline constexpr size_t kMaxListedJobs = 64;

struct MetricsInput {
  std::shared_ptr<const scheduler::Overview> overview;  // of all jobs, from the core; null: it can't answer now
  bool is_ready = false;
  scheduler::LoopMeasures loop;
  size_t queue_length = 0;
  size_t open_streams = 0;
  size_t http_connections = 0;
  std::map<std::string, uint64_t> counts;               // refused and rejected requests, by reason
  absl::Time certificate_end = absl::InfiniteFuture();  // stays InfiniteFuture without TLS
  absl::Time list_end = absl::InfiniteFuture();         // when the first of the revocation lists ends
  ProcessFacts process;
};

// Returns the text of the page. `job`: the page is for a viewer who may see only this job, so it leaves out the metrics
// that concern all jobs; empty: all jobs. `listed`: the jobs that had metrics of their own on the previous page. Unless
// `job` is set, MetricsPage replaces it with the jobs on this page.
std::string MetricsPage(const MetricsInput& input, MetricWriter::Format format, const std::string& job,
                        std::set<std::string>& listed);

}  // namespace muster::http
