// What a process has left that ended with 0: background jobs, which stand in its session, and others, which have one of
// their own (daemons). A shim has a session of its own, so its own number tells its process's jobs from all others.
#pragma once

#include <sys/types.h>

#include <csignal>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "common/base/clock.h"
#include "worker_agent/keeper/process/descendants.h"

namespace muster::agent {

struct LeftProcesses {
  std::vector<ProcessInfo> jobs;
  std::vector<ProcessInfo> daemons;

  bool empty() const { return jobs.empty() && daemons.empty(); }
};

// What descends from the calling shim and lives. Nothing when /proc can't be looked at.
std::optional<LeftProcesses> LookForLeft();

// "python3 (12), redis-server (13, in a session of its own) and 3 more".
std::string NamesOf(const LeftProcesses& left);

// The wait status of what waitid has seen.
int WaitStatusOf(const siginfo_t& info);

// Whether a job that ended so has failed. `is_early`: the script may have ended it as its last act, with a signal.
bool HasJobFailed(int wait_status, bool is_early);

// Sends it to all that descends from the calling shim, lives, and is in the group; 0: in the shim's session.
void SignalLeft(pid_t group, int signal, bool lets_go_on);

// The jobs that a process has started itself, from its end on. What they start in turn is theirs to judge.
class BackgroundJobs {
 public:
  // The process has died, and nothing else was reaped since.
  void Begin(MonotonicTime ended_at);
  // Before it is reaped. Whether it is a job that has failed since Begin.
  bool NoteEnd(const siginfo_t& info);

  // The first that failed, also before Begin: then others may wait for it.
  bool has_failed() const { return !failure_.empty(); }
  int failed_status() const { return failed_status_; }
  const std::string& failure() const { return failure_; }  // "python3 (12) ended with 1"

 private:
  std::map<pid_t, bool> started_;  // whether it had died at Begin
  MonotonicTime ended_at_;
  int failed_status_ = 0;
  std::string failure_;
};

}  // namespace muster::agent
