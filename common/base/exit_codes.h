// The exit codes that Muster itself gives. Part of the interface: scripts and job managers branch on them. ms-worker
// also ends with its first failed process's own code, 128 + signal, or 126 and 127 for a command that can't be run: see
// docs/errors.md.
#pragma once

namespace muster {

enum ExitCode : int {
  kExitSuccess = 0,
  kExitJobFailed = 1,         // ms-scheduler --once: its job failed
  kExitStuck = 1,             // ms-worker: one of its processes can't be killed
  kExitUsage = 2,             // wrong settings or usage
  kExitUnreachable = 10,      // the scheduler could not be reached at the start
  kExitRefused = 11,          // extra node, node id in use, settings differ, id out of range
  kExitNeverFormed = 12,      // not all nodes joined within MS_TOPO_TIMEOUT
  kExitFailedElsewhere = 13,  // the job failed on another node
  kExitSchedulerLost = 14,    // the scheduler was lost for good, or stopped
  kExitSecurity = 15,         // TLS or identity
  kExitGaveUp = 16,           // the restart budget is used up
};

constexpr int kExitSignalBase = 128;  // + the signal's number

}  // namespace muster
