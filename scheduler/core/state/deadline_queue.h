// One deadline for each handle. Moving one further away is cheap: every heartbeat does that.
//
// A deadline that moves later leaves its old heap entry where it is; the entry is put right when it surfaces. Next()
// may therefore be too early (a harmless wake-up), never too late. Ties are due in the order of their handles, so that
// equal inputs give equal orders.
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

  // Never() takes the handle out.
  void Set(Handle handle, MonotonicTime when);

  MonotonicTime Next() const { return heap_.empty() ? MonotonicTime::Never() : heap_.top().first; }

  // Removes and returns the earliest handle that is due at `now`; 0 if none is.
  Handle PopDue(MonotonicTime now);

 private:
  using Entry = std::pair<MonotonicTime, Handle>;
  struct Planned {
    MonotonicTime when;
    MonotonicTime queued;  // its valid heap entry
  };
  absl::flat_hash_map<Handle, Planned> planned_;
  std::priority_queue<Entry, std::vector<Entry>, std::greater<>> heap_;
};

}  // namespace muster::scheduler
