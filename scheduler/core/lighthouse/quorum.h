// Decides which replica groups train together next, by the rules of torchft's lighthouse (src/lighthouse.rs,
// quorum_compute; those of 0.2.0 and of the nightlies up to 2026-10 are the same). Pure.
//
//   all members of the last quorum ask again                 those that ask now, at once
//   fewer ask than min_replicas                              none yet
//   no more than half of those that are alive ask            none yet: the others could form one of their own
//   some that are alive don't ask, for less than the         none yet: they may come
//   join time-out since the first of those that ask did
//   else                                                     those that ask now
//
// If one of those that ask wants the quorum only to shrink, newcomers are left out; if that leaves no member, there is
// no quorum yet. (torchft's lighthouse forms an empty one.)
#pragma once

#include <string>
#include <vector>

#include "absl/time/time.h"
#include "common/base/clock.h"

namespace muster::scheduler {

struct QuorumRules {
  size_t min_replicas = 1;
  absl::Duration join_timeout = absl::Seconds(60);
};

// A replica that is alive and asks for a quorum.
struct Asker {
  const std::string* replica_id = nullptr;
  MonotonicTime since;
  bool shrink_only = false;
};

struct QuorumDecision {
  std::vector<std::string> members;                   // replica ids, sorted; empty: there is no quorum
  std::string why_not;                                // if there is none: the reason, for people
  MonotonicTime look_again = MonotonicTime::Never();  // if there is none: when time alone may bring one
};

// `askers` is sorted by replica id, which it does not own. `alive` is the number of replicas that are alive, these
// included. `last` has the members of the last quorum, sorted; null: there was none.
QuorumDecision DecideQuorum(const std::vector<Asker>& askers, size_t alive, const std::vector<std::string>* last,
                            const QuorumRules& rules, MonotonicTime now);

}  // namespace muster::scheduler
