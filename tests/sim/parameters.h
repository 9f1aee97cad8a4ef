// The choices that a seed makes before the run begins: the cluster, its settings, its users, and its faults.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "absl/time/time.h"
#include "muster/v1/types.pb.h"
#include "scheduler/core/state/options.h"

namespace muster::sim {

struct Limits {
  int nodes_max = 16;
  int jobs_max = 2;
};

struct MachineSpec {
  std::string host_name;
  std::string machine_id;
  std::string address;
  absl::Duration latency;
  absl::Duration jitter;
  absl::Duration clock_offset;  // its monotonic clock minus the simulation's
};

struct NodeSpec {
  size_t machine = 0;
  std::string node_id;  // empty: the scheduler assigns an id
  v1::NodeInfo info;
  v1::JobSettings settings;
  absl::Duration start_delay;
  bool is_surplus = false;  // extra, duplicate or with other settings: the job is complete without it
};

struct JobSpec {
  std::string id;
  std::vector<NodeSpec> nodes;
  bool is_complete = true;  // enough nodes come to form it
  bool recovers = false;
  bool has_command = true;
  absl::Duration longest_run;  // processes run for about this long at most
  double process_failure = 0;  // chance for each process to fail by itself
  double restart_node = 0;     // chance that someone starts an agent again after it ended
  double restart_job = 0;      // chance that the whole job is started again after all its agents ended
  uint32_t retry_num = 10;
};

// The number of times that each kind of fault strikes in one run; 0: never.
struct FaultPlan {
  int stream_breaks = 0;
  int partitions = 0;
  int agent_kills = 0;
  int agent_hangs = 0;
  int keeper_kills = 0;
  int machine_crashes = 0;
  int end_signals = 0;
  int scheduler_pauses = 0;
  int scheduler_restarts = 0;
  int stop_requests = 0;
  int process_hangs = 0;         // only with --progress_timeout, which notices them: otherwise the run would not end
  int steerings = 0;             // not faults, but as unexpected: restarts and drains by a user
  int renewals = 0;              // not faults: certificates are renewed, also in a calm run, which must not notice
  int blind_keepers = 0;         // for a while a keeper can't see which processes live
  int starved_keepers = 0;       // for a while it has no descriptors, so it can't start processes either
  int double_kills = 0;          // an agent and its keeper at one instant
  double leaves_descendant = 0;  // chance for each process to leave one that outlives it
  double dial_loss = 0;
  double dial_delay = 0;
  double dial_duplicate = 0;
  double call_loss = 0;  // of GetPeers and LastReport
  double launch_failure = 0;
  double slow_disk = 0;
};

struct Parameters {
  uint64_t seed = 0;
  absl::Duration length = absl::Minutes(10);
  absl::Duration faults_end;  // after this nothing breaks and no user starts anything
  scheduler::CoreOptions scheduler;
  bool is_persistent = false;   // the journal outlives the scheduler
  bool uses_datagrams = false;  // for heartbeats: only in some runs, so that the other seeds stay as they were
  bool uses_store = false;      // the agents use the job's store: only in some runs, for the same reason
  bool is_calm = false;         // no faults at all: everything must succeed
  std::vector<MachineSpec> machines;
  std::vector<JobSpec> jobs;
  FaultPlan faults;

  std::string Describe() const;
};

Parameters DrawParameters(uint64_t seed, const Limits& limits);

}  // namespace muster::sim
