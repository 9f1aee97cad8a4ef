// Watches what the running processes do, for people who ask "is it training?": when each wrote output last, how much
// processor time it takes with all that it has started, and the state of its main thread.
//
// Output is looked at by its length: the keeper is asked where the output ends. So the time of the last output is exact
// to kInterval. Descendants that a thread other than the main one has started are not counted. The agent's loop polls
// and owns it. Linux; see proc(5).
#pragma once

#include <sys/types.h>

#include <map>
#include <optional>
#include <vector>

#include "absl/strings/string_view.h"
#include "common/base/clock.h"
#include "worker_agent/core/events.h"
#include "worker_agent/keeper/processes.h"

namespace muster::agent {

class ActivityWatch {
 public:
  static constexpr absl::Duration kInterval = absl::Seconds(5);

  // Watches the process until Forget. It has just started.
  void Watch(const ProcessKey& key, pid_t pid, MonotonicTime now);
  void Forget(const ProcessKey& key) { watched_.erase(key); }
  void ForgetAll() { watched_.clear(); }

  // Once every kInterval: looks at all processes, and returns what is known of each. Otherwise returns nothing.
  std::vector<ActivitySeen> Poll(MonotonicTime now);
  // Returns the requests for the keeper that belong to the last Poll. Their asked_on is 0, as no other request's is.
  std::vector<OutputWish> TakeWishes() { return std::move(wishes_); }
  void Take(const OutputRead& read, MonotonicTime now);

 private:
  struct Watched {
    pid_t pid = 0;
    std::map<pid_t, uint64_t> ticks;  // processor time of the process and its descendants, at the last look
    MonotonicTime looked;
    uint64_t output_end = 0;
    MonotonicTime last_output;  // or its start
    bool has_output = false;
  };

  static ActivitySeen Look(const ProcessKey& key, Watched& watched, MonotonicTime now);

  std::map<ProcessKey, Watched> watched_;
  std::vector<OutputWish> wishes_;
  MonotonicTime polled_;
};

// Returns the processor time in the content of /proc/<pid>/stat, in ticks (utime + stime); nullopt: it has none.
std::optional<uint64_t> TicksIn(absl::string_view stat);

}  // namespace muster::agent
