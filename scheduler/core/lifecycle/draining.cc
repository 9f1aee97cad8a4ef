// Drains a node that a person wants to leave the job. The node leaves when a round ends for any reason and its
// processes have stopped. A spare, or a later start of the same node, takes its place.
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/base/text.h"
#include "scheduler/core/lifecycle/lifecycle.h"
#include "scheduler/core/places/admission.h"
#include "scheduler/core/places/standing_in.h"
#include "scheduler/core/views/views.h"

namespace muster::scheduler {
namespace {

// Returns what the user can expect of the next round without the node.
std::string Outlook(const Run& run, const Node& node, absl::Duration rejoin_timeout) {
  for (const Node* spare : SparesStandingBy(run)) {
    if (spare->record().info.role() == node.record().info.role() &&
        spare->record().slots.size() == node.record().slots.size()) {
      return absl::StrCat("spare ", spare->record().id, " can take its place");
    }
  }
  return absl::StrCat("no spare fits, so the job then waits up to ", FormatAge(rejoin_timeout), " for ",
                      node.record().id, " to be started again");
}

}  // namespace

absl::StatusOr<std::string> Lifecycle::Drain(Run& run, const v1::SteerRequest& request) {
  const bool is_draining = request.action() == v1::SteerRequest::DRAIN;
  if (run.IsOver()) {
    return absl::FailedPreconditionError(absl::StrCat("run ", run.record().number, " of job ", run.record().job_id,
                                                      " is ", RunPhaseName(run.record()),
                                                      ": its nodes leave by themselves"));
  }
  Node* found = run.nodes.Find(request.node_id());
  if (found == nullptr) return NoSuchNode(run, request.node_id());
  Node& node = *found;
  if (node.record().is_lost) {
    return absl::FailedPreconditionError(absl::StrCat(NodeText(node), " is not here: ", node.record().lost_reason,
                                                      "; to keep it away, do not start it again"));
  }
  if (!is_draining && node.record().is_spare && run.faulty_machines.erase(node.record().info.machine_id()) > 0) {
    return absl::StrCat(NodeText(node), " may stand in again");
  }
  const bool is_noted = is_draining != node.record().draining_reason.empty();
  if (is_noted && !(is_draining && request.now())) {
    return absl::FailedPreconditionError(absl::StrCat(NodeText(node),
                                                      is_draining ? " is leaving already: " : " is not being drained",
                                                      node.record().draining_reason));
  }
  if (!is_noted) NoteDraining(run, node, request);
  if (!is_draining) return absl::StrCat(NodeText(node), " stays in job ", run.record().job_id);
  const std::string who = NodeText(node);
  if (node.record().is_spare || run.record().phase == v1::RUN_PHASE_FORMING) {
    Dismiss(run, node);
    TryCloseRound(run);
    return absl::StrCat(who, " has left job ", run.record().job_id);
  }
  const std::string outlook = Outlook(run, node, context_.RejoinTimeout(run));
  if (run.record().phase == v1::RUN_PHASE_RECOVERING) {
    TryNextRound(run);
    return absl::StrCat(who, " leaves before the next round; ", outlook);
  }
  if (!request.now()) {
    return absl::StrCat(who, " leaves at the next round (to begin it now: `ms-ctl restart ", run.record().job_id,
                        "`); ", outlook);
  }
  RestartAsDecided(run, absl::StrCat(who, " is ", node.record().draining_reason));
  return absl::StrCat(who, " leaves now, and all processes of job ", run.record().job_id, " are being restarted; ",
                      outlook);
}

void Lifecycle::NoteDraining(const Run& run, const Node& node, const v1::SteerRequest& request) {
  const bool is_draining = request.action() == v1::SteerRequest::DRAIN;
  v1::Record record = context_.NewRecord();
  v1::NodeDraining& draining = *record.mutable_node_draining();
  SetHead(draining, run, node);
  draining.set_incarnation(node.record().incarnation);
  draining.set_is_draining(is_draining);
  draining.set_reason(absl::StrCat(is_draining ? "drained by " : "wanted back by ",
                                   request.user().empty() ? "a user" : request.user(),
                                   request.reason().empty() ? "" : ": ", request.reason()));
  context_.Write(std::move(record));
}

// Dismisses the draining nodes after their processes of this round have ended.
void Lifecycle::DismissDraining(Run& run) {
  for (auto& [id, node] : run.nodes) {
    const bool has_quit = node.stream != 0 && node.record().quit_round >= run.record().round;
    if (!node.record().draining_reason.empty() && !node.record().is_spare && !node.record().is_lost && has_quit)
      Dismiss(run, node);
  }
}

// Removes a draining node; this is no failure. The node has no running processes.
void Lifecycle::Dismiss(Run& run, Node& node) {
  const std::string reason = node.record().draining_reason;
  SendAway(run, node, v1::NodeRemoved::DRAINED, reason, RefuseDrained(run, node.record().id, reason));
}

void Lifecycle::SendAway(Run& run, Node& node, v1::NodeRemoved::Why why, const std::string& reason,
                         v1::Refusal refusal) {
  const StreamId stream = node.stream;
  Message message = context_.NewMessage();
  *message->mutable_refusal() = std::move(refusal);
  if (run.record().phase == v1::RUN_PHASE_RECOVERING && !node.record().is_spare) {
    MarkLost(run, node, why, reason, true);  // its ranks wait for a spare or for its next start
  } else {
    RemoveNode(run, node, why, reason, true);
  }
  context_.SendTo(stream, std::move(message));
  context_.CloseStreamOf(stream);
}

}  // namespace muster::scheduler
