// Decides which replica groups train together next, by the rules of torchft's lighthouse (src/lighthouse.rs,
// quorum_compute; the rules are the same in 0.2.0 and in the nightlies up to 2026-10). Pure.
//
// The first row that fits decides:
//
//   situation                                                members of the next quorum
//   all members of the last quorum ask again                 all replicas that ask now
//   fewer ask than min_replicas                              no quorum yet
//   no more than half of the living replicas ask             no quorum yet: the others could form another one
//   some living replicas don't ask, and the join time-out    no quorum yet: the others may still ask
//   since the first call is not over
//   none of these                                            all replicas that ask now
//
// If one of the replicas that ask allows the quorum only to shrink, replicas that were not in the last quorum are left
// out. If this leaves no member, there is no quorum yet. (torchft's lighthouse forms an empty quorum then.)
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
  std::string why_not;                                // if there is no quorum: the reason, for people
  MonotonicTime look_again = MonotonicTime::Never();  // if there is no quorum: when to decide again without a new call
};

// `askers` must be sorted by replica id. `alive` is the number of all replicas that are alive, including the askers.
// `last` has the members of the last quorum, sorted; null: there was no quorum.
QuorumDecision DecideQuorum(const std::vector<Asker>& askers, size_t alive, const std::vector<std::string>* last,
                            const QuorumRules& rules, MonotonicTime now);

}  // namespace muster::scheduler
