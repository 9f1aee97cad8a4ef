// The first two steps of an agent's start: its keeper, and the node's lock, which both hold.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>

#include "absl/status/statusor.h"
#include "worker_agent/keeper/client/keeper.h"
#include "worker_agent/keeper/process_mark.h"
#include "worker_agent/node/node_lock.h"
#include "worker_agent/settings/agent_settings.h"

namespace muster::agent {

struct StartedKeeper {
  std::unique_ptr<Keeper> keeper;
  std::optional<ProcessMark> mark;  // of the processes that it will start; none: the system allows none, as is logged
};

// Forks, with the passwords out of memory and before anything secret is read: what is forked here gets no copy. While
// this is the only thread. The error says why the agent can't start.
absl::StatusOr<StartedKeeper> StartKeeper(const AgentSettings& settings,
                                          std::map<std::string, std::string>& environment);

// The error, which is logged, says why the agent goes on without a lock. `wake_fd`: see NodeLock::Options.
absl::StatusOr<NodeLock> TakeNodeLock(const AgentSettings& settings,
                                      const std::map<std::string, std::string>& environment, int wake_fd,
                                      const std::optional<ProcessMark>& mark, Keeper& keeper);

}  // namespace muster::agent
