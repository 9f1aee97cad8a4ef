// The keeper process itself: its loop.
#pragma once

#include "worker_agent/keeper/agent_watch.h"
#include "worker_agent/keeper/keeper.h"
#include "worker_agent/keeper/unique_fd.h"

namespace muster::agent {

// What the forked child does for the rest of its life. All signals must be blocked. `socket` leads to the agent,
// `agent` watches it.
[[noreturn]] void RunKeeper(UniqueFd socket, AgentWatch agent, const KeeperOptions& options);

}  // namespace muster::agent
