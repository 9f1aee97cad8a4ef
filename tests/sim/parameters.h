// What a seed decides before the run begins: the cluster, its settings, its users, and how badly it is treated.
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
  absl::Duration clock_offset;  // its monotonic clock against the simulation's
};

struct NodeSpec {
  size_t machine = 0;
  std::string node_id;  // empty: the scheduler assigns one
  v1::NodeInfo info;
  v1::JobSettings settings;
  absl::Duration start_delay;
  bool is_surplus = false;  // extra, duplicate or with other settings: the job is complete without it
};

struct JobSpec {
  std::string id;
  std::vector<NodeSpec> nodes;
  bool is_complete = true;  // enough nodes come for it to form
  bool recovers = false;
  bool has_command = true;
  absl::Duration longest_run;  // processes run for at most about this
  double process_failure = 0;  // chance for each process to fail by itself
  double restart_node = 0;     // chance that someone starts an agent again after it ended
  double restart_job = 0;      // chance that the whole job is started again after all its agents ended
  uint32_t retry_num = 10;
};

// How often each kind of fault strikes in one run; 0: never.
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
  int process_hangs = 0;         // only where --progress_timeout notices them: else the run would not end
  int steerings = 0;             // not a fault, but as unexpected: restarts by hand, draining
  int renewals = 0;              // the same: certificates are renewed, also in a calm run, which must not notice
  int blind_keepers = 0;         // for a while a keeper can't see who lives
  int starved_keepers = 0;       // for a while it has no descriptors: it can't start anybody either
  int double_kills = 0;          // an agent and its keeper at one instant
  double leaves_descendant = 0;  // chance for each process to leave one that outlives it
  double dial_loss = 0;
  double dial_delay = 0;
  double dial_duplicate = 0;
  double call_loss = 0;  // GetPeers and Farewell
  double launch_failure = 0;
  double slow_disk = 0;
};

struct Parameters {
  uint64_t seed = 0;
  absl::Duration length = absl::Minutes(10);
  absl::Duration faults_end;  // from here on nothing breaks and nobody starts anything
  scheduler::CoreOptions scheduler;
  bool is_persistent = false;   // the journal outlives the scheduler
  bool uses_datagrams = false;  // for heartbeats: in some worlds, so that the others stay as they were
  bool uses_store = false;      // the agents use the job's store: in some worlds, so that the others stay as they were
  bool is_calm = false;         // no faults at all: everything must go well
  std::vector<MachineSpec> machines;
  std::vector<JobSpec> jobs;
  FaultPlan faults;

  std::string Describe() const;
};

Parameters DrawParameters(uint64_t seed, const Limits& limits);

}  // namespace muster::sim
