// Remains: descendants of a process that has died, which still exist. They were sent SIGKILL, but hang in the kernel or
// are traced. The table shows when the process's end is reported to the scheduler:
//
//   the process                  something is left                      nothing is left
//   failed, or was stopped       reported at once                       -
//   ended well                   reported, with has_remains, when it is    reported
//                                known that the remains can't be killed
//
// Until nothing is left, the slot is taken, and the node neither reports that it has quit the round (converging.cc) nor
// leaves (ending.cc).
#pragma once

#include <map>
#include <vector>

#include "common/base/clock.h"
#include "worker_agent/core/connection/reporter.h"
#include "worker_agent/core/events.h"
#include "worker_agent/core/messages.h"
#include "worker_agent/core/process_end.h"
#include "worker_agent/core/processes.h"

namespace muster::agent {

// Holds back the ends of processes that ended well, while something of them is left.
class HeldEnds {
 public:
  // `reporter` outlives this.
  explicit HeldEnds(Reporter& reporter) : reporter_(reporter) {}

  void Hold(const ProcessKey& key, const ProcessEnd& end, MonotonicTime happened) { held_[key] = {end, happened}; }
  // Reports the end of this process: nothing of it is left, or (`has_remains`) its remains can't be killed.
  void Report(const ProcessKey& key, bool has_remains);
  // Reports all ends that are held back: nothing is left of any process.
  void ReportAll();

 private:
  struct Held {
    ProcessEnd end;
    MonotonicTime happened;
  };

  Reporter& reporter_;
  std::map<ProcessKey, Held> held_;
};

// Names all processes that run or are left, for the agent's last messages.
std::vector<NamedProcess> NameAllLeft(const Processes& processes);
// Adds to a report the processes that were sent SIGKILL and are still there; at most kMaxStuckPerReport.
void FillStuck(const Processes& processes, MonotonicTime now, v1::Report& report);
// Adds to a report the running processes that are halted; at most kMaxHaltedPerReport.
void FillHalted(const std::map<ProcessKey, ProcessHalted>& halted, MonotonicTime now, v1::Report& report);

}  // namespace muster::agent
