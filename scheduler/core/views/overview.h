// The data for monitoring, in one answer. It has only counts, so that it stays small even for large jobs.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "muster/v1/admin.pb.h"
#include "scheduler/core/context/context.h"
#include "scheduler/core/state/measures.h"

namespace muster::scheduler {

// A run that has not ended, or that is the latest run of its job.
struct RunOverview {
  v1::RunStatus status;
  std::map<std::string, uint32_t> nodes;  // by state: connected, disconnected, lost, settled
  std::map<std::string, uint32_t> ranks;  // by state: assigned, running, done, failed, stopped
  uint32_t draining_nodes = 0;
  uint32_t restarts_left = 0;  // in the budget of the last hour
  uint64_t store_bytes = 0;
};

struct Overview {
  uint64_t term = 0;
  bool is_draining = false;
  std::vector<RunOverview> runs;
  Measures measures;
};

std::shared_ptr<const Overview> OverviewOf(const Context& context);

}  // namespace muster::scheduler
