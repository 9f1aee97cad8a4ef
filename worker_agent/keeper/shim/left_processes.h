// The processes that a training process has left when it ended with 0: background jobs, which are in its session, and
// daemons, which have sessions of their own. Each shim has its own session, which its process shares. So the session's
// number distinguishes the jobs of this process from all other processes.
#pragma once

#include <sys/types.h>

#include <csignal>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "common/base/clock.h"
#include "worker_agent/keeper/process/children.h"
#include "worker_agent/keeper/process/descendants.h"

namespace muster::agent {

struct LeftProcesses {
  std::vector<ProcessInfo> jobs;
  std::vector<ProcessInfo> daemons;

  bool empty() const { return jobs.empty() && daemons.empty(); }
};

// Returns the living descendants of the calling shim. Nothing: /proc can't be read (errno says why). An empty result
// does not prove that none is left: other users' processes may be hidden (hidepid), and where /proc is not mounted, all
// processes are hidden.
std::optional<LeftProcesses> LookForLeft();

// Returns the names for a message: "python3 (12), redis-server (13, in a session of its own) and 3 more".
std::string NamesOf(const LeftProcesses& left);

// Returns the wait status for a result of waitid.
int WaitStatusOf(const siginfo_t& info);

// Returns true if a job that ended with this status has failed: see the table in left_processes.cc. `is_early`: it
// ended so soon that the script may have killed it as its last act.
bool HasJobFailed(int wait_status, bool is_early);

// Sends `signal` to all living descendants of the calling shim that are in `group`; 0: in the shim's session.
// `lets_go_on`: sends SIGCONT after it. Returns false, with errno, if /proc can't be read: then it has signalled the
// groups in which the shim has a child, and these contain nearly all descendants. `children`: the shim's.
bool SignalLeft(Children& children, pid_t group, int signal, bool lets_go_on);

// Watches the background jobs of a process from its end on. Only jobs that the process has started itself count: each
// job must judge for itself the processes that it starts.
class BackgroundJobs {
 public:
  // Must be called when the process has died and nothing was reaped since. If it can't look at the shim's children,
  // each child in the shim's session that ends later counts as a job.
  void Begin(Children& children, MonotonicTime ended_at);
  // Must be called for each dead child before it is reaped. Returns true if it is a job that has failed since Begin.
  bool NoteEnd(const siginfo_t& info);

  // These describe the first job that failed, even if it was dead before Begin.
  bool has_failed() const { return !failure_.empty(); }
  int failed_status() const { return failed_status_; }
  const std::string& failure() const { return failure_; }  // "python3 (12) ended with 1"

 private:
  bool IsJob(pid_t child) const;

  std::map<pid_t, bool> started_;  // the jobs; true: it was dead before Begin
  bool knows_started_ = true;      // false: Begin could not look at the children
  MonotonicTime ended_at_;
  int failed_status_ = 0;
  std::string failure_;
};

}  // namespace muster::agent
