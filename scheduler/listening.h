// Opens what the settings ask the scheduler to listen on.
#pragma once

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "scheduler/ingress/bind_plan.h"
#include "scheduler/ingress/listener.h"
#include "scheduler/scheduler_settings.h"

namespace muster::scheduler {

struct OpenPorts {
  std::vector<Listener> listeners;  // TCP and, after that, the admin socket
  std::vector<UniqueFd> datagrams;  // for heartbeats; may be empty
};

// Says in the log what is not as MS_SCHED_HOST has it. An error says why the scheduler can't serve; a port for
// datagrams, and an admin socket that nobody asked for by name, are only warned of.
absl::StatusOr<OpenPorts> OpenListeners(const SchedulerSettings& settings);

// Where the agents' port listens, and --mindspore_port, too.
absl::StatusOr<BindPlan> PlanAgentsPort(const SchedulerSettings& settings);

// "127.0.0.1:8118 and [::1]:8118": the TCP ones.
std::string ListenerNames(const std::vector<Listener>& listeners);

// The first one that other machines can reach; empty: all addresses are listened on, or loopback only.
std::string ReachableAddress(const std::vector<Listener>& listeners);

// The path of the admin socket; empty if there is none.
std::string AdminSocketOf(const std::vector<Listener>& listeners);

}  // namespace muster::scheduler
