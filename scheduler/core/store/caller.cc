#include "scheduler/core/store/caller.h"

#include "absl/strings/str_cat.h"
#include "scheduler/core/facts/cause.h"

namespace muster::scheduler {
namespace {

absl::Status Over(const v1::StoreCaller& caller, const std::string& why) {
  return absl::FailedPreconditionError(absl::StrCat("round ", caller.round(), " of run ", caller.run(), " of job ",
                                                    caller.job_id(), " is over for node ", caller.node_id(), ": ",
                                                    why));
}

}  // namespace

// Values are for nodes of the present round while its processes may run. If something broke, those that are left get
// nothing done any more, so only a planned stop goes on using them.
absl::Status CheckCaller(const Run* run, const v1::StoreCaller& caller, const std::string& identity) {
  if (run == nullptr) return Over(caller, "that run is not known, or forgotten");
  if (run->record().phase != v1::RUN_PHASE_RUNNING && !IsInPlannedStop(*run))
    return Over(caller, absl::StrCat("the run is ", RunPhaseName(run->record().phase)));
  if (run->record().round != caller.round())
    return Over(caller, absl::StrCat("the present round is ", run->record().round));
  const Node* node = run->nodes.Find(caller.node_id());
  if (node == nullptr || node->record().is_lost) return Over(caller, "the node is not part of it");
  if (node->record().incarnation != caller.incarnation())
    return Over(caller, "another start of the node has its place");
  // Without a name the incarnation is enough, as for a join.
  if (!node->record().identity.empty() && !identity.empty() && node->record().identity != identity) {
    return absl::PermissionDeniedError(
        absl::StrCat("node ", caller.node_id(), " joined with another certificate's name"));
  }
  return absl::OkStatus();
}

}  // namespace muster::scheduler
