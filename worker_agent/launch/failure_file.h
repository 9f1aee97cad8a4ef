// Writes the report of a failed run: as failure.json in the log folder, and as text for the terminal. Both have the
// same cause in the same words.
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
// `rank` is null if the failure is not that of a rank, `reason` if it is not known (docs/errors.md lists the reasons),
// `exit_code` if a signal ended the process. `signal_name` is empty if none did.
std::string FailureText(const std::string& job_id, uint64_t run, const v1::Outcome& outcome);

std::string FailureFile(const std::string& log_dir);

// Writes <log_dir>/failure.json atomically. Makes the folder if it is missing. `outcome` must have a cause.
absl::Status WriteFailureFile(const std::string& log_dir, const std::string& job_id, uint64_t run,
                              const v1::Outcome& outcome);

// Returns the signal's name, such as "SIGKILL"; "signal 63" if it has no name; empty for 0.
std::string SignalName(int signal);

}  // namespace muster::agent
