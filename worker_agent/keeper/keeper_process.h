// The keeper process itself: its loop.
#pragma once

#include "common/unique_fd.h"
#include "worker_agent/keeper/agent_watch.h"
#include "worker_agent/keeper/keeper.h"

namespace muster::agent {

// To the agent, and to two file helpers (helper_process.h).
struct KeeperSockets {
  UniqueFd agent;
  UniqueFd logs;
  UniqueFd files;
};

// What the forked child does for the rest of its life. All signals must be blocked. `agent` watches the agent.
[[noreturn]] void RunKeeper(KeeperSockets sockets, AgentWatch agent, const KeeperOptions& options);

}  // namespace muster::agent
