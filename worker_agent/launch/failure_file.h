// The report of a failed run, beside its logs and on the terminal: the same cause, the same words, everywhere.
#pragma once

#include <cstdint>
#include <string>

#include "absl/status/status.h"
#include "muster/v1/types.pb.h"

namespace muster::agent {

// failure.json:
//   {"schema": "muster.failure/1", "job": "default", "run": 1, "kind": "PROCESS_SIGNALED",
//    "reason": "out_of_memory", "cause": "rank 3 on node2 …", "rank": 3, "role": "worker", "node_id": "node2-1",
//    "host": "node2", "exit_code": null, "signal": 9, "signal_name": "SIGKILL", "last_lines": ["…"],
//    "log_file": "/logs/default/3-20261120T230000.000Z/worker_3.log", "remedy": "…",
//    "ended": "2026-11-20T23:04:30.123Z"}
// `rank` is null when no rank was to blame, `reason` when it is not known (docs/errors.md lists them),
// `exit_code` after a signal; `signal_name` is empty without one.
std::string FailureText(const std::string& job_id, uint64_t run, const v1::Outcome& outcome);

std::string FailureFile(const std::string& log_dir);

// Writes <log_dir>/failure.json atomically; makes the folder. `outcome` has a cause.
absl::Status WriteFailureFile(const std::string& log_dir, const std::string& job_id, uint64_t run,
                              const v1::Outcome& outcome);

// Returns the cause for a terminal: its line of text, the last lines of output each after "  | ", and the remedy if
// there is one. No newline at the end. Foreign control characters are escaped.
std::string FormatCause(const v1::Cause& cause);

// Returns "SIGKILL"; "signal 63" for one without a name; empty for 0.
std::string SignalName(int signal);

}  // namespace muster::agent
