// The keeper's own process, with its loop.
#pragma once

#include <sys/types.h>

#include "absl/time/time.h"
#include "common/base/unique_fd.h"
#include "worker_agent/keeper/process/agent_watch.h"
#include "worker_agent/keeper/process/fence_page.h"
#include "worker_agent/keeper/processes.h"

namespace muster::agent {

// While the keeper ends, it calls FencePage::NoteTurn at least this often, however long its processes take to die.
inline constexpr absl::Duration kKeeperTurn = absl::Seconds(5);

// The keeper's sockets to the agent and to two file helpers (helper_process.h).
struct KeeperSockets {
  UniqueFd agent;
  UniqueFd logs;
  UniqueFd files;
};

// The processes around the keeper: the agent, the guardian that is its parent, and the page that they share.
struct KeeperFamily {
  AgentWatch agent;
  AgentWatch guardian;
  FencePage* page = nullptr;
};

// Runs the keeper in the process that the guardian has forked for it. All signals must be blocked.
[[noreturn]] void RunKeeper(KeeperSockets sockets, KeeperFamily family, const KeeperOptions& options);

}  // namespace muster::agent
