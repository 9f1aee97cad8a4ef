// The principal that holds the place of a job or a node, and for how long:
//
//   a job    the principal that opened it (after a restart of the scheduler: the first that comes back); while its run
//            has not ended and has a node
//   a node   the principal that joined with it last; while its run has not ended or its stream is open
#include "scheduler/core/places/places.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "common/base/check.h"
#include "common/net/fair_share.h"
#include "scheduler/core/places/admission.h"

namespace muster::scheduler {
namespace {

v1::Refusal RefusePrincipal(const Quota& quota, const JoinRequested& event, const char* what, const char* remedy) {
  const std::string principal = PrincipalOf(event.identity, event.peer_address);
  const size_t held = quota.HeldBy(principal);
  if (held == 0) {
    return TryLater(absl::StrCat("the limit of ", quota.most(), " ", what, " of this scheduler is reached: ", remedy),
                    absl::Seconds(3));
  }
  v1::Refusal refusal = TryLater(
      absl::StrCat(event.identity.empty() ? "address " : "", principal, " has ", held, " of the ", quota.most(), " ",
                   what, " that this scheduler allows, and the last ones are reserved for others: ", remedy,
                   event.identity.empty() ? "; with TLS each certificate's name has a share of its own"
                                          : "; a certificate of another name has a share of its own"),
      absl::Seconds(3));
  refusal.set_limit(absl::StrCat(what, " of one party"));
  return refusal;
}

// Takes or returns a place so that `principal` holds one if and only if `holds`. `held` says whether it holds one.
void Keep(Quota& quota, const std::string& principal, bool& held, bool holds) {
  if (held == holds) return;
  held = holds;
  holds ? quota.Take(principal) : quota.Return(principal);
}

}  // namespace

size_t Quota::HeldBy(const std::string& principal) const {
  const auto held = held_.find(principal);
  return held == held_.end() ? 0 : held->second;
}

bool Quota::HasRoomFor(const std::string& principal) const {
  const size_t left = most_ - std::min(most_, taken_);
  return left > most_ / 8 || HeldBy(principal) < left;
}

void Quota::Take(const std::string& principal) {
  ++held_[principal];
  ++taken_;
}

void Quota::Return(const std::string& principal) {
  const auto held = held_.find(principal);
  MUSTER_CHECK(held != held_.end(), "a party gives back a place that it doesn't hold");
  if (--held->second == 0) held_.erase(held);
  --taken_;
}

std::optional<v1::Refusal> Places::RefuseJob(const JoinRequested& event) const {
  const std::string principal = PrincipalOf(event.identity, event.peer_address);
  // The first place of a principal is always allowed here. If all places are taken, Membership refuses the job.
  if (jobs_.HeldBy(principal) == 0 || jobs_.HasRoomFor(principal)) return std::nullopt;
  return RefusePrincipal(jobs_, event, "jobs", "stop one (ms-ctl stop), or use another scheduler");
}

std::optional<v1::Refusal> Places::RefuseNode(const JoinRequested& event) const {
  if (nodes_.HasRoomFor(PrincipalOf(event.identity, event.peer_address))) return std::nullopt;
  return RefusePrincipal(nodes_, event, "nodes",
                         "end agents that are no longer needed, or raise the limits of ms-scheduler (ulimit -n, "
                         "LimitNOFILE= of its service, memory)");
}

void Places::NoteHeld(Run& run) { Keep(jobs_, run.principal, run.is_held, !run.HasEnded() && !run.nodes.empty()); }

void Places::NoteHeld(const Run& run, Node& node) {
  Keep(nodes_, node.principal, node.is_held, !run.HasEnded() || node.stream != 0);
}

void Places::NotePrincipal(Run& run, Node& node, const JoinRequested& event) {
  const std::string principal = PrincipalOf(event.identity, event.peer_address);
  if (run.principal.empty()) {
    Keep(jobs_, run.principal, run.is_held, false);
    run.principal = principal;
  }
  NoteHeld(run);
  if (node.principal != principal) {
    Keep(nodes_, node.principal, node.is_held, false);
    node.principal = principal;
  }
  NoteHeld(run, node);
}

void Places::Release(Node& node) {
  Keep(nodes_, node.principal, node.is_held, false);
  context_.deadlines.Set(node.handle, MonotonicTime::Never());
  context_.owners.erase(node.handle);
}

void Places::Release(Run& run) {
  Keep(jobs_, run.principal, run.is_held, false);
  context_.deadlines.Set(run.handle, MonotonicTime::Never());
  context_.owners.erase(run.handle);
}

void Places::Detach(Run& run, Node& node) {
  if (node.stream == 0) return;
  node.stream = 0;
  node.lease_end = MonotonicTime::Never();
  --context_.connected_nodes;
  run.NoteReadiness(node);
  NoteHeld(run, node);
}

}  // namespace muster::scheduler
