// Steps of ms-worker's start, in the order in which main takes them: settling the settings, starting the keeper, taking
// the node's lock, checking the node.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "common/net/service_manager.h"
#include "common/settings/settings.h"
#include "muster/v1/types.pb.h"
#include "worker_agent/keeper/client/keeper.h"
#include "worker_agent/keeper/process_mark.h"
#include "worker_agent/launch/command/command_check.h"
#include "worker_agent/node/node_lock.h"
#include "worker_agent/runtime/signals.h"
#include "worker_agent/settings/agent_settings.h"

namespace muster::agent {

// ---- settle_command.cc: completes the settings from the platform, the rank table and the environment, checks the
// command, and computes durations from the settings. Nothing has been started yet.

// Adds settings that were not given: those that the platform (--from) has, and the job's size, from the rank table.
// With --standalone, drops settings that are meant for another job: the scheduler's port, MASTER_ADDR and
// MASTER_PORT.
void TakeMore(const SettingsTable& table, std::map<std::string, std::string>& environment, AgentSettings& settings,
              LoadResult& loaded);

// Does CheckAgentSettings, and adds findings on the command and on the environment that this program was started in.
SettingsFindings FindMore(const AgentSettings& settings, const std::map<std::string, std::string>& environment);

// Logs the settings that were taken from the platform. If the command is a Python script, puts the interpreter in front
// of it, and logs that. Returns the reason why the command can't be started here; nullopt if it can.
std::optional<CommandProblem> SettleCommand(AgentSettings& settings,
                                            const std::map<std::string, std::string>& environment);

// Returns how long a request to the scheduler may take: MS_RECEIVE_MSG_TIMEOUT, but at most SessionOptions' default.
absl::Duration RequestTimeout(const AgentSettings& settings);

// Returns the timeouts that --check_config prints.
std::vector<TimeoutStep> AgentTimeouts(const AgentSettings& settings);

// Returns how long an orderly end may take after a signal, before this program ends at once. It covers the stop of the
// processes, the last report to the scheduler, and the end of the keeper and of a scheduler that this agent started.
absl::Duration SignalPatience(const AgentSettings& settings);

// ---- check_start.cc: --check.

// Checks, without joining a job, whether this node could take part in it, and prints a row for each check. `warnings`:
// of the settings. Blocks for at most two minutes and the limit of --node_check. Returns 0, or 1 if a check has failed.
int CheckStart(AgentSettings settings, const std::map<std::string, std::string>& environment,
               const std::vector<std::string>& warnings);

// ---- start_keeper.cc: starts the agent's keeper and takes the node's lock, which agent and keeper both hold.

struct StartedKeeper {
  std::unique_ptr<Keeper> keeper;
  std::optional<ProcessMark> mark;  // on each process that it will start; nullopt: the system allows none (logged)
};

// Forks the keeper. Takes the passwords of TLS out of memory for the time of the fork, so that the keeper gets no copy
// of a secret. Call it while this is the only thread, and before a key is read. The error says why the agent can't
// start.
absl::StatusOr<StartedKeeper> StartKeeper(const AgentSettings& settings,
                                          std::map<std::string, std::string>& environment);

// Takes the node's lock for this agent and its keeper. If that fails, logs the reason and returns it; the agent can go
// on without a lock. `wake_fd`: see NodeLock::Options.
absl::StatusOr<NodeLock> TakeNodeLock(const AgentSettings& settings,
                                      const std::map<std::string, std::string>& environment, int wake_fd,
                                      const std::optional<ProcessMark>& mark, Keeper& keeper);

// ---- first_node_check.cc: the node check (preflight/node_check.h) before the node joins.

// Runs the command of --node_check, if --preflight names it, and adds the result to `node`. Returns the exit code with
// which the agent ends: the check failed, which is then logged, or a signal cut it short.
std::optional<int> RunFirstNodeCheck(const AgentSettings& settings,
                                     const std::map<std::string, std::string>& environment, Signals& signals,
                                     const ServiceManager& manager, v1::NodeInfo& node);

}  // namespace muster::agent
