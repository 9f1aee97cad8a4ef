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

// ---- settle_command.cc: additions of the platform, the command, the rank table and the surroundings to the settings,
// before anything is started; and the durations that follow from them.

// Adds missing settings: those of the platform (--from), and the job's size, from the rank table. Takes away those that
// are meant for another job than one of --standalone.
void TakeMore(const SettingsTable& table, std::map<std::string, std::string>& environment, AgentSettings& settings,
              LoadResult& loaded);

// Does CheckAgentSettings, and adds findings on the command and the surroundings.
SettingsFindings FindMore(const AgentSettings& settings, const std::map<std::string, std::string>& environment);

// Logs the settings that were taken from the platform. Puts a Python script under its interpreter, and logs that.
// Returns why the command can't be started here, if that is so.
std::optional<CommandProblem> SettleCommand(AgentSettings& settings,
                                            const std::map<std::string, std::string>& environment);

// Returns MindSpore's setting, cut to this program's own limit.
absl::Duration RequestTimeout(const AgentSettings& settings);

// Returns the timeouts for --check_config.
std::vector<TimeoutStep> AgentTimeouts(const AgentSettings& settings);

// The time for processes to stop, for the last report to the scheduler, and for the keeper and our own scheduler to
// end.
absl::Duration SignalPatience(const AgentSettings& settings);

// ---- start_keeper.cc: the agent's keeper, and the node's lock, which both hold.

struct StartedKeeper {
  std::unique_ptr<Keeper> keeper;
  std::optional<ProcessMark> mark;  // of the processes that it will start; none: the system allows none, as is logged
};

// Forks, with the passwords out of memory and before anything secret is read: the child gets no copy. To be called
// while this is the only thread. The error says why the agent can't start.
absl::StatusOr<StartedKeeper> StartKeeper(const AgentSettings& settings,
                                          std::map<std::string, std::string>& environment);

// The error, which is logged, says why the agent goes on without a lock. `wake_fd`: see NodeLock::Options.
absl::StatusOr<NodeLock> TakeNodeLock(const AgentSettings& settings,
                                      const std::map<std::string, std::string>& environment, int wake_fd,
                                      const std::optional<ProcessMark>& mark, Keeper& keeper);

}  // namespace muster::agent
