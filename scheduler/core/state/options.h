// The options with which the scheduler was started.
#pragma once

#include <cstddef>
#include <map>
#include <optional>
#include <string>

#include "absl/time/time.h"
#include "muster/v1/types.pb.h"

namespace muster::scheduler {

// Restarts of a job, and failures of a node, count for this time.
inline constexpr absl::Duration kBudgetWindow = absl::Hours(1);

// The scheduler's own values for the settings on which a job's nodes agree.
struct OwnSettings {
  v1::JobSettings rules = {};     // a node with another value is refused
  v1::JobSettings defaults = {};  // only for nodes that set no value
  // The source of each value, for messages: "worker_num" → "--worker_num", "muster.conf:3" or "MS_WORKER_NUM".
  std::map<std::string, std::string> sources = {};
};

struct CoreOptions {
  OwnSettings own;
  absl::Duration lease = absl::Seconds(600);
  absl::Duration disconnect_grace = absl::Seconds(10);
  absl::Duration stop_timeout = absl::Seconds(30);
  absl::Duration fence_stop_timeout = absl::Seconds(5);  // how long the fence takes to end a node's processes
  std::optional<absl::Duration> fence_timeout;           // if the user sets it (0: off); else see Context::SpareFence
  bool fence_needs_all_four = false;                     // --fence_needs is all-four
  // A node is drained after this many failures within an hour that may come from it; 0: never.
  uint32_t max_node_failures = 3;
  std::optional<absl::Duration> rejoin_timeout;        // else topo_timeout
  absl::Duration topo_timeout = absl::Seconds(1800);   // unless the settings or the first join say otherwise
  std::optional<absl::Duration> heartbeat_interval;    // else 2 s, 5 s above 1,000 agents, at most lease / 3
  absl::Duration keep_runs_for = absl::Hours(24 * 7);  // how long to keep runs that have ended
  size_t max_nodes = 1'000'000;                        // the limit for all jobs together; see places.cc
  bool is_once = false;                                // one run only; its topology timeout starts with the scheduler
  std::string own_address;                             // its listening address, if others reach it; else empty
  std::string version;
};

}  // namespace muster::scheduler
