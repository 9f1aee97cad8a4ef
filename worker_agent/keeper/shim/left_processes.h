// The processes that one that ended with 0 has left: background jobs, which are in its session, and daemons, which have
// one of their own. A shim has a session of its own, so its number distinguishes its process's jobs from all others.
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

// Returns the living descendants of the calling shim. Nothing, with errno, when /proc can't be read. Another user's
// processes may be hidden (hidepid), and all where /proc is not mounted: an empty result doesn't prove that none is
// left.
std::optional<LeftProcesses> LookForLeft();

// "python3 (12), redis-server (13, in a session of its own) and 3 more".
std::string NamesOf(const LeftProcesses& left);

// Returns the wait status for a result of waitid.
int WaitStatusOf(const siginfo_t& info);

// True if a job with this end has failed. `is_early`: the script may have ended it as its last act, with a signal.
bool HasJobFailed(int wait_status, bool is_early);

// Sends the signal to all living descendants of the calling shim in the group; 0: in the shim's session. False, with
// errno, when /proc can't be read: then it goes to the groups in which the shim has a child, which is nearly all.
// `children`: the shim's.
bool SignalLeft(Children& children, pid_t group, int signal, bool lets_go_on);

// The jobs that a process has started itself, from its end on. It must judge for itself what they start in turn.
class BackgroundJobs {
 public:
  // The process has died, and nothing else was reaped since. Where the shim's children can't be seen, each one that
  // ends later in its session counts as a job.
  void Begin(Children& children, MonotonicTime ended_at);
  // To be called before the child is reaped. True if it is a job that has failed since Begin.
  bool NoteEnd(const siginfo_t& info);

  // The first job that failed, also before Begin: then others may wait for it.
  bool has_failed() const { return !failure_.empty(); }
  int failed_status() const { return failed_status_; }
  const std::string& failure() const { return failure_; }  // "python3 (12) ended with 1"

 private:
  bool IsJob(pid_t child) const;

  std::map<pid_t, bool> started_;  // whether it had died at Begin
  bool knows_started_ = true;      // false: Begin could not look
  MonotonicTime ended_at_;
  int failed_status_ = 0;
  std::string failure_;
};

}  // namespace muster::agent
