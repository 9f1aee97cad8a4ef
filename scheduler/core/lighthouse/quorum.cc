#include "scheduler/core/lighthouse/quorum.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"

namespace muster::scheduler {
namespace {

QuorumDecision NotYet(std::string why) {
  QuorumDecision decision;
  decision.why_not = std::move(why);
  return decision;
}

}  // namespace

QuorumDecision DecideQuorum(const std::vector<Asker>& askers, size_t alive, const std::vector<std::string>* last,
                            const QuorumRules& rules, MonotonicTime now) {
  if (askers.empty()) return NotYet("no replica asks");
  const bool only_shrinks = std::any_of(askers.begin(), askers.end(), [](const Asker& one) { return one.shrink_only; });
  QuorumDecision decision;
  size_t returning = 0;  // the number of askers that were in the last quorum
  for (const Asker& asker : askers) {
    const bool was_in = last != nullptr && std::binary_search(last->begin(), last->end(), *asker.replica_id);
    returning += was_in ? 1 : 0;
    if (was_in || !only_shrinks || last == nullptr) decision.members.push_back(*asker.replica_id);
  }
  if (decision.members.empty())
    return NotYet("only new replicas ask, and one of them allows the quorum only to shrink");
  const bool is_complete = last != nullptr && returning == last->size();
  if (is_complete) return decision;
  if (askers.size() < rules.min_replicas) {
    return NotYet(absl::StrCat(askers.size(), " of at least ", rules.min_replicas, " replicas ask"));
  }
  if (askers.size() <= alive / 2) {
    return NotYet(absl::StrCat(askers.size(), " of ", alive, " living replicas ask, but more than half must"));
  }
  const MonotonicTime first = std::min_element(askers.begin(), askers.end(), [](const Asker& a, const Asker& b) {
                                return a.since < b.since;
                              })->since;
  if (askers.size() != alive && now - first < rules.join_timeout) {
    decision = NotYet(absl::StrCat(alive - askers.size(), " of ", alive, " replicas that are alive may still ask"));
    decision.look_again = first + rules.join_timeout;
  }
  return decision;
}

}  // namespace muster::scheduler
