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

// At most so many jobs have metrics of their own. Those that have not ended come first, then those that had them
// before, then those with more nodes. The others are only in the sums.
inline constexpr size_t kMaxListedJobs = 64;

struct MetricsInput {
  std::shared_ptr<const scheduler::Overview> overview;  // null: the core can't answer now
  bool is_ready = false;
  scheduler::LoopMeasures loop;
  size_t queue_length = 0;
  size_t open_streams = 0;
  size_t http_connections = 0;
  std::map<std::string, uint64_t> counts;               // refused and rejected requests, by reason
  absl::Time certificate_end = absl::InfiniteFuture();  // no TLS: never
  absl::Time list_end = absl::InfiniteFuture();         // the earliest of the revocation lists
  ProcessFacts process;
};

// `job`: show only this one, without what is about all jobs; empty: all. `listed`: the jobs with metrics of their own
// on the previous page; set to those on this one, unless `job` is set.
std::string MetricsPage(const MetricsInput& input, MetricWriter::Format format, const std::string& job,
                        std::set<std::string>& listed);

}  // namespace muster::http
