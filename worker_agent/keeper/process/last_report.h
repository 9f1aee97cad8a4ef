// The last report: the command that informs the scheduler that the agent is dead and its processes are gone.
#pragma once

#include <string>
#include <vector>

#include "common/base/exit_status.h"
#include "worker_agent/keeper/processes.h"

namespace muster::agent {

// Returns argv with {signal} and {exit_code} replaced wherever they occur.
std::vector<std::string> FillLastReport(const std::vector<std::string>& argv, const ExitStatus& fate);

// Runs the command with /dev/null as its standard streams (otherwise a reader would wait for the end of a pipe that the
// command keeps open). Kills it after 10 s. Returns when it has ended. Blocks.
void RunLastReport(const LastReportCommand& command, const ExitStatus& fate);

}  // namespace muster::agent
