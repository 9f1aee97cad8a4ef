// The advice for a run that waits for lost nodes:
//
//   the lost nodes                                               the advice
//   all have a spare; their old processes will certainly have    nothing to do, and how to make it faster
//   ended after some time
//   all have a spare; only a person can say whether their old    `ms-ctl fence`
//   processes have ended
//   some have no spare                                           start these nodes again, or start a spare
//
// A spare takes over when the next round closes. If the run still waits although nothing is left to wait for, the other
// nodes could not reach the spare. Then the advice is as if there were no spare.
#include "scheduler/core/places/standing_in.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "common/base/ids.h"
#include "common/base/text.h"
#include "scheduler/core/places/waiting.h"

namespace muster::scheduler {
namespace {

std::string FenceEach(const std::vector<std::string>& ids) {
  return absl::StrCat("`ms-ctl fence ", ids.front(), "`", ids.size() == 1 ? "" : " (and for each of the others)");
}

// Returns when the spares take over, for example "spare d takes over in 20 s", or what a person must do first. `stale`
// has the lost nodes with old processes that may still run.
std::string DescribeTakingOver(const Run& run, const std::vector<std::string>& spares, const std::string& lost,
                               const std::vector<std::string>& stale, MonotonicTime now) {
  const std::string takes_over = absl::StrCat(spares.size() == 1 ? "spare " : "spares ", JoinSome(spares),
                                              spares.size() == 1 ? " takes over" : " take over");
  MonotonicTime when = run.restart_at.is_never() ? now : run.restart_at;
  std::vector<std::string> for_ever;
  for (const std::string& id : stale) {
    const MonotonicTime end = run.nodes.at(id).stale_end;
    if (end.is_never()) {
      for_ever.push_back(id);
    } else {
      when = std::max(when, end);
    }
  }
  const std::string line = absl::StrCat("the same ms-worker line again on ", lost);
  if (!for_ever.empty()) {
    return absl::StrCat("run ", FenceEach(for_ever), " if the old processes have certainly ended: ", takes_over,
                        " then; or start ", line, "; or end the job with `ms-ctl stop`");
  }
  const std::string in_time = when > now ? absl::StrCat(" in ", FormatAge(when - now)) : " once all others are ready";
  if (stale.empty()) return absl::StrCat("nothing to do: ", takes_over, in_time);
  return absl::StrCat("nothing to do: ", takes_over, in_time, "; sooner with ", FenceEach(stale),
                      ", if the old processes have certainly ended, or with ", line);
}

}  // namespace

std::vector<const Node*> SparesStandingBy(const Run& run) {
  std::vector<const Node*> spares;
  for (const auto& [id, node] : run.nodes) {
    if (!node.record().is_spare || node.stream == 0 || node.record().is_leaving) continue;
    if (!run.faulty_machines.contains(node.record().info.machine_id())) spares.push_back(&node);
  }
  std::sort(spares.begin(), spares.end(),
            [](const Node* a, const Node* b) { return NaturalLess(a->record().id, b->record().id); });
  return spares;
}

const Node* TakeSpareFor(const Node& lost, std::vector<const Node*>& spares) {
  const auto spare = std::find_if(spares.begin(), spares.end(), [&lost](const Node* s) {
    return s->record().info.role() == lost.record().info.role() &&
           s->record().slots.size() == lost.record().slots.size();
  });
  if (spare == spares.end()) return nullptr;
  const Node* taken = *spare;
  spares.erase(spare);
  return taken;
}

std::string DescribeRemedy(const Run& run, MonotonicTime now) {
  if (run.record().phase != v1::RUN_PHASE_RECOVERING) return "";
  std::vector<const Node*> spares = SparesStandingBy(run);
  std::vector<std::string> lost, stale, taking_over, not_covered;
  for (const auto& [id, node] : run.nodes) {
    if (!node.record().is_lost || node.record().is_spare) continue;
    lost.push_back(absl::StrCat(node.record().info.host_name(), " (node ", id, ")"));
    if (node.record().stale_incarnation != 0) stale.push_back(id);
    if (const Node* spare = TakeSpareFor(node, spares)) {
      taking_over.push_back(spare->record().id);
    } else {
      not_covered.push_back(lost.back());
    }
  }
  if (lost.empty()) return "";
  const bool waits = !stale.empty() || !run.unquit.empty() || run.holding_up > 0 ||
                     (!run.restart_at.is_never() && run.restart_at > now);
  if (not_covered.empty() && waits) return DescribeTakingOver(run, taking_over, JoinSome(lost), stale, now);
  const std::string again = JoinSome(not_covered.empty() ? lost : not_covered);
  std::string text = absl::StrCat("start the same ms-worker line again on ", again,
                                  "; or a --spare with as many slots on another machine");
  if (!stale.empty()) {
    absl::StrAppend(&text, ", and run ", FenceEach(stale), " if the old processes have certainly ended");
  }
  return absl::StrCat(text, "; or end the job with `ms-ctl stop`");
}

}  // namespace muster::scheduler
