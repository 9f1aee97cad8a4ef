// The steps of an agent's start before it is a node, in the order in which main takes them.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "common/settings/settings.h"
#include "worker_agent/keeper/client/keeper.h"
#include "worker_agent/keeper/process_mark.h"
#include "worker_agent/launch/command/command_check.h"
#include "worker_agent/node/node_lock.h"
#include "worker_agent/settings/agent_settings.h"

namespace muster::agent {

// ---- settle_command.cc: what the platform, the command, the rank table and the surroundings add to the settings,
// before anything is started; and the durations that follow from them.

// What the settings don't give: of the platform (--from), and the job's size, of the rank table. Takes away what is
// meant for another job than one of --standalone.
void TakeMore(const SettingsTable& table, std::map<std::string, std::string>& environment, AgentSettings& settings,
              LoadResult& loaded);

// CheckAgentSettings, and what the command and the surroundings say beside the settings.
SettingsFindings FindMore(const AgentSettings& settings, const std::map<std::string, std::string>& environment);

// Logs what was taken of the platform. Puts a Python script under its interpreter, which it logs. Why the command can't
// be started here, if that is so.
std::optional<CommandProblem> SettleCommand(AgentSettings& settings,
                                            const std::map<std::string, std::string>& environment);

// MindSpore's setting, of which this program takes no more than is good for it.
absl::Duration RequestTimeout(const AgentSettings& settings);

// What --check_config prints of the timeouts.
std::vector<TimeoutStep> AgentTimeouts(const AgentSettings& settings);

// For processes to stop, the scheduler to be told, the keeper and a scheduler of our own to end.
absl::Duration SignalPatience(const AgentSettings& settings);

// ---- start_keeper.cc: the agent's keeper, and the node's lock, which both hold.

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
