// Which replica groups train together next: the rules of torchft's lighthouse (src/lighthouse.rs, quorum_compute; those
// of 0.2.0 and of the nightlies up to 2026-10 are the same). Pure.
//
//   all members of the last quorum ask again                 those who ask now, at once
//   fewer ask than min_replicas                              nobody yet
//   no more than half of those that are alive ask            nobody yet: the others could form one of their own
//   some that are alive don't ask, for less than the         nobody yet: they may come
//   join time-out since the first of those who ask did
//   else                                                     those who ask now
//
// Where one of those who ask wants the quorum only to shrink, newcomers are left out; where nobody would be left, there
// is none yet. (torchft's has one of nobody.)
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
  std::string why_not;                                // then, for people
  MonotonicTime look_again = MonotonicTime::Never();  // then: when time alone may bring one
};

// `askers`: sorted by replica id, which is not owned. `alive`: how many replicas are, these included. `last`: the
// members of the last quorum, sorted; null: there was none.
QuorumDecision DecideQuorum(const std::vector<Asker>& askers, size_t alive, const std::vector<std::string>* last,
                            const QuorumRules& rules, MonotonicTime now);

}  // namespace muster::scheduler
