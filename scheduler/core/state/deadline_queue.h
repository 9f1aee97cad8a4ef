// A queue with one deadline for each handle. It is cheap to move a deadline to a later time: every heartbeat does
// this.
//
// When a deadline moves later, its old heap entry stays; it is corrected when it reaches the top of the heap. So Next()
// may be too early (a harmless wake-up), but never too late. Handles with equal deadlines are due in the order of the
// handles, so that equal inputs give equal orders.
#pragma once

#include <cstdint>
#include <queue>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "common/base/clock.h"

namespace muster::scheduler {

class DeadlineQueue {
 public:
  using Handle = uint64_t;

  // Sets the handle's deadline. Never() removes the handle.
  void Set(Handle handle, MonotonicTime when);

  MonotonicTime Next() const { return heap_.empty() ? MonotonicTime::Never() : heap_.top().first; }

  // Removes and returns the earliest handle that is due at `now`; 0 if none is.
  Handle PopDue(MonotonicTime now);

 private:
  using Entry = std::pair<MonotonicTime, Handle>;
  struct Planned {
    MonotonicTime when;
    MonotonicTime queued;  // the time of its valid heap entry
  };
  absl::flat_hash_map<Handle, Planned> planned_;
  std::priority_queue<Entry, std::vector<Entry>, std::greater<>> heap_;
};

}  // namespace muster::scheduler
