// Turns a command of a script into an event of the core.
#pragma once

#include <optional>
#include <string>

#include "scheduler/core/state/events.h"
#include "scheduler/core/state/options.h"
#include "tests/golden/script.h"

namespace muster::golden {

// The scheduler's options: worker_num, server_num, enable_recovery, hccl_cm_init, topo_timeout, lease, grace,
// stop_timeout, fence_timeout, heartbeat, once.
scheduler::CoreOptions ParseOptions(Command& command);

// nullopt: no such verb. `cluster_id` is the one that agents and keepers use unless the command sets another; `query`
// numbers the admin calls.
std::optional<scheduler::Event> ParseEvent(Command& command, const std::string& cluster_id, uint64_t& query);

}  // namespace muster::golden
