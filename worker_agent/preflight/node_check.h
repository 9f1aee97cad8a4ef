// --node_check COMMAND: a command of the user that says whether this node is fit for the job.
//
// The agent runs it before its node joins, and before a round that follows a failure on this node which calls for it
// (CallsForNodeCheck in common/causes/failure_kind.h): never after a failure of the script, its data or its memory.
//
// Only the agent bounds the check: if the agent is killed, the check runs on.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "common/base/clock.h"

namespace muster::agent {

struct NodeCheck {
  std::string command;           // for /bin/sh -c; empty: there is no check
  std::vector<std::string> env;  // NAME=VALUE, the command's whole environment
  absl::Duration time_limit;     // the command's process group is then killed
};

// Returns the check of --preflight command, with these environment variables.
NodeCheck MakeNodeCheck(const std::string& command, const std::map<std::string, std::string>& environment,
                        absl::Duration time_limit);

struct NodeCheckResult {
  // kFailedPrecondition: the check failed; says how, with the last line of its output. kCancelled: it was cut short.
  absl::Status status;
  std::string last_line;        // the last line of its output, clean text of at most 300 bytes; empty: no output
  std::optional<double> score;  // of a last line "muster-score=12.3": a positive number; larger is slower
  std::string output;           // the end of its stdout and stderr, at most 16 KiB, as the command wrote it
};

// Runs the check. Blocks until it has ended, its time limit is over, or `cancel_fd` is readable.
NodeCheckResult RunNodeCheck(const NodeCheck& check, int cancel_fd, const Clock& clock);

// Logs how the check went. If it failed, logs the end of its output, too.
void LogNodeCheck(const NodeCheckResult& result, absl::Duration took);

}  // namespace muster::agent
