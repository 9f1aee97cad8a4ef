// Remains: the processes of one that has died. They are sent SIGKILL, but hang in the kernel or are traced.
//
//   the process                  something is left                      nothing is left
//   failed, or was stopped       reported at once                       -
//   ended well                   reported once it is known that it      reported
//                                can't be killed, with that word
//
// Until nothing is left the slot is taken, and the round is not quit (converging.cc), nor the node left (ending.cc).
#pragma once

#include <map>
#include <vector>

#include "common/base/clock.h"
#include "worker_agent/core/connection/reporter.h"
#include "worker_agent/core/messages.h"
#include "worker_agent/core/process_end.h"
#include "worker_agent/core/processes.h"

namespace muster::agent {

// Processes that have ended well, and are not reported while something of them is left.
class HeldEnds {
 public:
  // `reporter` outlives this.
  explicit HeldEnds(Reporter& reporter) : reporter_(reporter) {}

  void Hold(const ProcessKey& key, const ProcessEnd& end, MonotonicTime happened) { held_[key] = {end, happened}; }
  // Nothing of it is left, or (`has_remains`) what is left can't be killed.
  void Report(const ProcessKey& key, bool has_remains);
  // Nothing is left of any.
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

}  // namespace muster::agent
