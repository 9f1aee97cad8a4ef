// The exit codes that Muster's programs use. They are part of the interface: scripts and job managers branch on them.
// If a training process fails, ms-worker ends with that process's code instead.
//
// tests/tidy/errors_page.py makes a table of these comments for docs/errors.md. The first sentence says what the code
// means, the next ones what to do.
#pragma once

namespace muster {

enum ExitCode : int {
  // The job succeeded, the scheduler took this node out of it, or the command is done.
  kExitSuccess = 0,
  // The job failed (ms-scheduler --once, ms-ctl watch), or the request was refused or names something that does not
  // exist (other commands of ms-ctl). `ms-ctl why` has the cause of a failure.
  kExitJobFailed = 1,
  // ms-worker: one of its processes can't be killed. Its last line names the process and what to do.
  kExitStuck = 1,
  // Wrong settings or usage. Correct what the message names.
  kExitUsage = 2,
  // The scheduler could not be reached at the start. Check MS_SCHED_HOST and MS_SCHED_PORT; `ms-ctl ping` finds the
  // cause.
  kExitUnreachable = 10,
  // The scheduler refused the node, or a check before the start failed. Do what the message says.
  kExitRefused = 11,
  // Some nodes did not join within MS_TOPO_TIMEOUT. `ms-ctl nodes --missing` names those that are missing.
  kExitNeverFormed = 12,
  // The job failed, but no process of this node did. `ms-ctl why` has the cause.
  kExitFailedElsewhere = 13,
  // The scheduler was lost for good, or has stopped. Start it again, with a journal on a disk.
  kExitSchedulerLost = 14,
  // TLS or identity: a file or a certificate is not accepted. Correct the one that the message names.
  kExitSecurity = 15,
  // The restarts of this hour (--max_restarts) are used up. Fix what fails: `ms-ctl events` shows it.
  kExitGaveUp = 16,
  // The job was stopped, or this node was drained, before the job was done. `ms-ctl events` has the user and the
  // reason.
  kExitStopped = 17,
  // ms-worker: the command can't be executed, or its start fails for another reason. Do what the message says.
  kExitCannotStart = 126,
  // ms-worker: the command does not exist, or the interpreter named in its first line does not exist. Check the
  // command's spelling and PATH.
  kExitNotFound = 127,
};

// The signal with that number ended the process. `ms-ctl why` says which process, and what may have sent the signal.
constexpr int kExitSignalBase = 128;

}  // namespace muster
