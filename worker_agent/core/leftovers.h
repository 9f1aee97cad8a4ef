// What processes have left that have died: it was sent SIGKILL, and hangs in the kernel or is traced.
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

// All that run or are left, for the agent's last words.
std::vector<NamedProcess> NameAllLeft(const Processes& processes);
// Into a report: what was sent SIGKILL and is still there; at most kMaxStuckPerReport.
void FillStuck(const Processes& processes, MonotonicTime now, v1::Report& report);

}  // namespace muster::agent
