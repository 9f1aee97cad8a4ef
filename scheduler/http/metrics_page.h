// What /metrics tells: docs/monitoring.md lists it. Pure.
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

// So many jobs have metrics of their own: first those that have not ended, of these those that had them before, of
// these those with more nodes. Others are in the sums.
inline constexpr size_t kMaxListedJobs = 64;

struct MetricsInput {
  std::shared_ptr<const scheduler::Overview> overview;  // null: the core can't answer now
  bool is_ready = false;
  scheduler::LoopMeasures loop;
  size_t queue_length = 0;
  size_t open_streams = 0;
  size_t http_connections = 0;
  std::map<std::string, uint64_t> counts;               // what was refused or turned away, by reason
  absl::Time certificate_end = absl::InfiniteFuture();  // no TLS: never
  absl::Time list_end = absl::InfiniteFuture();         // of revocations, the first of them
  ProcessFacts process;
};

// `job`: the only one that is told of, without what is about all jobs; empty: all. `listed`: the jobs that had metrics
// of their own on the page before, and on this one; left alone where `job` is set.
std::string MetricsPage(const MetricsInput& input, MetricWriter::Format format, const std::string& job,
                        std::set<std::string>& listed);

}  // namespace muster::http
