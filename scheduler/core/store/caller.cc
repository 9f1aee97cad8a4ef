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

// Nodes of the present round may use the store while the round's processes may run. After a failure the remaining
// processes can't finish their work, so they may not use it any more. In a planned stop they still may.
absl::Status CheckCaller(const Run* run, const v1::StoreCaller& caller, const std::string& identity) {
  if (run == nullptr) return Over(caller, "that run is not known, or forgotten");
  if (run->record().phase != v1::RUN_PHASE_RUNNING && !IsInPlannedStop(*run))
    return Over(caller, absl::StrCat("the run is ", RunPhaseName(run->record())));
  if (run->record().round != caller.round())
    return Over(caller, absl::StrCat("the present round is ", run->record().round));
  const Node* node = run->nodes.Find(caller.node_id());
  if (node == nullptr || node->record().is_lost) return Over(caller, "the node is not part of it");
  if (node->record().incarnation != caller.incarnation())
    return Over(caller, "another start of the node has its place");
  // For a caller without a name the incarnation is enough proof, as for a join.
  if (!node->record().identity.empty() && !identity.empty() && node->record().identity != identity) {
    return absl::PermissionDeniedError(
        absl::StrCat("node ", caller.node_id(), " joined with another name in its certificate"));
  }
  return absl::OkStatus();
}

}  // namespace muster::scheduler
