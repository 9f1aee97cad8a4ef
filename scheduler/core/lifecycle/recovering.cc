// A run goes on after a failure (MS_ENABLE_RECOVERY): a round is given up, all processes stop, each lost node comes
// back or a spare stands in for it, and the next round starts with the same ranks.
//
//   a process fails, scope "job"             AbortRound; the next round after a back-off
//   a process fails, scope "worker"          RestartAlone: its next attempt after a back-off
//   the budget of restarts is used up        the run fails: "gave up"
//   the same, by a broken device or file     AbortRound at once, and the restart costs no budget, if a spare can take
//     system of the node                     the node's place (bad_nodes.cc)
//   a member is lost                         AbortRound; the next round waits for it (--rejoin_timeout) or a spare
//   a member is lost, its slots are done     the round goes on: the run needs nothing more from the node
//   another failure while a round ends       it is noted as a possible cause
//
// The next round closes when each rank's old process has certainly ended and a node is ready to start the new one:
//
//   the node                                 the next round waits until
//   member, connected                        it reports that it has quit the round
//   member with a failure that calls for     its agent reports that the node check has passed (--node_check,
//     its node check                           bad_nodes.cc), or it leaves
//   member that the other nodes can't reach  it is refused and marked as lost (places/round_addresses.cc)
//   member, disconnected but not lost        it comes back, or is lost after its grace
//   spare that may have processes            it reports that it has quit the round (places/older_journal.cc)
//   such a spare that left without reporting its keeper sends the last report, or a person runs `ms-ctl fence`
//   lost, its processes confirmed dead       a spare with as many slots, which the others can reach, stands in, or the
//                                            node itself is started again
//   lost, its processes may still run        they are confirmed dead: by the keeper's last report, by the node's next
//                                            start, which holds its lock, by `ms-ctl fence`, or (guarded nodes only)
//                                            by the end of its fence
#include <algorithm>
#include <map>
#include <utility>

#include "absl/strings/str_cat.h"
#include "scheduler/core/facts/cause.h"
#include "scheduler/core/facts/progress.h"
#include "scheduler/core/lifecycle/lifecycle.h"
#include "scheduler/core/places/standing_in.h"
#include "scheduler/core/places/waiting.h"
#include "scheduler/core/views/views.h"

namespace muster::scheduler {
namespace {

constexpr absl::Duration kMaxBackOff = absl::Seconds(60);
constexpr absl::Duration kLookInterval = absl::Seconds(1);  // between two checks of all nodes of a large run

// Returns zero for the first restart, then 1 s, 2 s, 4 s, … up to kMaxBackOff.
absl::Duration BackOff(size_t restarts_before) {
  if (restarts_before == 0) return absl::ZeroDuration();
  return std::min(absl::Seconds(int64_t{1} << std::min<size_t>(restarts_before - 1, 10)), kMaxBackOff);
}

}  // namespace

void Lifecycle::Disturb(Run& run, CauseCandidate candidate) {
  if (!run.Recovers() || !run.IsUnderWay()) return Fail(run, std::move(candidate));
  if (run.record().phase == v1::RUN_PHASE_RUNNING) {
    run.has_free_restart = IsDrainedFor(run, candidate.cause);
    if (run.has_free_restart) return AbortRound(run, std::move(candidate), absl::ZeroDuration());
    if (!TakeFromBudget(run)) return Fail(run, std::move(candidate), true);
    return AbortRound(run, std::move(candidate), BackOff(run.restarts.size() - 1));
  }
  if (run.candidates.size() < kMaxCandidates) run.candidates.push_back(std::move(candidate));
}

// Returns false if the budget is used up.
bool Lifecycle::TakeFromBudget(Run& run) {
  while (!run.restarts.empty() && context_.now.monotonic - run.restarts.front() >= kBudgetWindow)
    run.restarts.pop_front();
  if (run.restarts.size() >= run.MaxRestarts()) return false;
  run.restarts.insert(run.restarts.end(), IsWithoutProgress(run) ? 2 : 1, context_.now.monotonic);
  return true;
}

void Lifecycle::AbortRound(Run& run, CauseCandidate candidate, absl::Duration back_off, uint32_t round) {
  v1::Record record = context_.NewRecord();
  v1::RoundAborted& aborted = *record.mutable_round_aborted();
  SetHead(aborted, run);
  aborted.set_round(std::max(run.record().round, round));
  *aborted.mutable_first() = candidate.cause;
  aborted.set_recent_restarts(static_cast<uint32_t>(run.restarts.size()));
  if (run.highest_step) aborted.set_highest_step(*run.highest_step);
  context_.Write(std::move(record));
  if (!IsInPlannedStop(run)) store_.EndWaits(run);
  run.candidates.clear();
  run.candidates.push_back(std::move(candidate));
  run.aborted = context_.now.monotonic;
  run.restart_at = context_.now.monotonic + back_off;
  run.is_held_back = back_off > absl::ZeroDuration();
  for (auto& [id, node] : run.nodes) {
    run.NoteReadiness(node);
    if (node.restart_at.is_never()) continue;
    node.restart_at = MonotonicTime::Never();
    context_.Schedule(node);
  }
  SendDesiredToAll(run, true);
}

void Lifecycle::EndTick() {
  is_ticking_ = false;
  for (const uint64_t handle : std::exchange(to_try_, {})) {
    const auto owner = context_.owners.find(handle);
    if (owner != context_.owners.end()) TryNextRound(*owner->second.run);
  }
}

void Lifecycle::RestartAlone(Run& run, Node& node, CauseCandidate candidate) {
  if (!TakeFromBudget(run)) return Fail(run, std::move(candidate), true);
  node.restart_cause = std::move(candidate.cause);
  node.restart_at = std::min(node.restart_at, context_.now.monotonic + BackOff(run.restarts.size() - 1));
  if (context_.now.monotonic >= node.restart_at) return RestartFailedSlots(run, node);
  context_.Schedule(node);
}

void Lifecycle::RestartFailedSlots(Run& run, Node& node) {
  node.restart_at = MonotonicTime::Never();
  context_.Schedule(node);
  for (uint32_t i = 0; i < node.record().slots.size(); ++i) {
    if (node.record().slots[i].phase != SlotState::Phase::kFailed) continue;
    v1::Record record = context_.NewRecord();
    v1::SlotRestarted& restarted = *record.mutable_slot_restarted();
    SetHead(restarted, run, node);
    restarted.set_slot(i);
    restarted.set_attempt(node.record().slots[i].attempt + 1);
    if (!node.restart_cause.text().empty()) *restarted.mutable_cause() = node.restart_cause;
    restarted.set_recent_restarts(static_cast<uint32_t>(run.restarts.size()));
    context_.Write(std::move(record));
  }
  SendDesired(run, node, false);
}

void Lifecycle::TryNextRoundAfter(Run& run, const Node& node) {
  const bool is_member = !node.record().is_spare && !node.record().is_lost && node.record().draining_reason.empty();
  if (!is_member || run.holding_up == 0) return TryNextRound(run);
  run.waiting_cache.is_valid = false;
}

// Closes the next round once every rank's old process has certainly ended and a node is ready to start the new one. If
// the counts say that the round can't close, it checks all nodes of a large run only once a second. Otherwise each of
// thousands of nodes that are lost or come back would cost a check of all the others.
void Lifecycle::TryNextRound(Run& run) {
  if (run.record().phase != v1::RUN_PHASE_RECOVERING) return;
  run.waiting_cache.is_valid = false;
  const bool may_close = run.holding_up == 0 && run.record().lost.size() <= run.record().spare_count;
  if (may_close || run.nodes.size() <= kFewNodes || context_.now.monotonic - run.looked >= kLookInterval) {
    return LookForNextRound(run);
  }
  run.look_deadline = run.looked + kLookInterval;
  context_.Schedule(run);
}

void Lifecycle::LookForNextRound(Run& run, std::set<std::string> passed_over) {
  run.looked = context_.now.monotonic;
  run.look_deadline = MonotonicTime::Never();
  DismissDraining(run);
  std::vector<const Node*> members;
  std::map<std::string, const Node*> stands_for;
  std::vector<const Node*> spares = SparesStandingBy(run);
  std::erase_if(spares, [&passed_over](const Node* spare) { return passed_over.contains(spare->record().id); });
  bool is_ready = !run.IsRoundBehind() && run.unquit.empty();
  run.rejoin_deadline = MonotonicTime::Never();
  for (auto& [id, node] : run.nodes) {
    if (node.record().is_spare) {
      if (node.must_quit && node.record().quit_round < run.record().round) is_ready = false;
      continue;
    }
    const MonotonicTime missing_since = std::exchange(node.missing_since, MonotonicTime::Never());
    if (node.record().is_lost && node.record().stale_incarnation == 0) {
      if (const Node* spare = TakeSpareFor(node, spares)) {
        members.push_back(spare);
        stands_for[spare->record().id] = &node;
        continue;
      }
    }
    if (node.record().is_lost) {
      node.missing_since = std::min(missing_since, context_.now.monotonic);
      run.rejoin_deadline = std::min(run.rejoin_deadline, node.missing_since + context_.RejoinTimeout(run));
    }
    if (node.stream == 0 || node.record().quit_round < run.record().round) is_ready = false;
    members.push_back(&node);
  }
  context_.Schedule(run);
  if (!is_ready || context_.now.monotonic < run.restart_at) return;
  const RoundAddresses addresses = ChooseAddresses(members, context_.options.own_address);
  if (addresses.unreachable.empty()) {
    if (DrainBadNode(run, members, spares)) return LookForNextRound(run, std::move(passed_over));
    if (AwaitsNodeCheck(run)) return;
    if (std::exchange(run.has_free_restart, false) && !PayForRestart(run)) return;
    return CloseRound(run, members, addresses.others, {}, stands_for);
  }
  std::vector<Unreachable> regular;
  for (const Unreachable& one : addresses.unreachable) {
    if (one.node->record().is_spare) {
      passed_over.insert(one.node->record().id);
    } else {
      regular.push_back(one);
    }
  }
  TurnAway(run, regular);
  LookForNextRound(run, std::move(passed_over));
}

// Takes a restart from the budget that was to cost none: the node could not be drained after all. False if the run has
// failed for this, or has to wait for the end of the back-off.
bool Lifecycle::PayForRestart(Run& run) {
  if (!TakeFromBudget(run)) {
    Fail(run, CauseCandidate(ChooseCause(run.candidates)), true);
    return false;
  }
  run.restart_at = run.aborted + BackOff(run.restarts.size() - 1);
  run.is_held_back = context_.now.monotonic < run.restart_at;
  context_.Schedule(run);
  return !run.is_held_back;
}

bool Lifecycle::GoesOnWithout(const Run& run, const Node& node) const {
  return run.IsUnderWay() && !node.record().is_spare && (run.Recovers() || node.IsAllDone());
}

// Marks the node as lost; its ranks wait for it or for a spare. It does not close the node's stream, because the caller
// may still want to send a message on it.
void Lifecycle::MarkLost(Run& run, Node& node, v1::NodeRemoved::Why why, const std::string& reason, bool is_confirmed) {
  ReleaseChallenger(node);
  places_.Detach(run, node);
  v1::Record record = context_.NewRecord();
  v1::NodeLost& lost = *record.mutable_node_lost();
  SetHead(lost, run, node);
  lost.set_incarnation(node.record().incarnation);
  lost.set_why(why);
  lost.set_reason(reason);
  // A node that has quit the round has no processes, and starts none before the next round.
  const bool has_quit =
      run.record().phase == v1::RUN_PHASE_RECOVERING && node.record().quit_round >= run.record().round;
  lost.set_is_confirmed(is_confirmed || node.HasNoProcesses() || has_quit);
  lost.set_is_fence_too_weak(node.record().info.is_fence_guarded() && !node.IsFenceGuarded());
  lost.set_armed_fence_ms(static_cast<uint32_t>(absl::ToInt64Milliseconds(node.record().armed_fence)));
  context_.Write(std::move(record));
  run.NoteReadiness(node);
  node.grace_end = MonotonicTime::Never();
  node.restart_at = MonotonicTime::Never();
  node.heir_doubt.clear();
  // In another phase, `missing_since` is set when the round is given up. LookForNextRound clears it if a spare can
  // stand in.
  if (run.record().phase == v1::RUN_PHASE_RECOVERING) node.missing_since = context_.now.monotonic;
  node.stale_end = StaleEnd(node, node.last_seen);
  context_.Schedule(node);
}

MonotonicTime Lifecycle::StaleEnd(const Node& node, MonotonicTime heard) {
  const bool is_fenced = node.record().stale_incarnation != 0 && node.record().stale_fence > absl::ZeroDuration() &&
                         !node.IsFenceUnguarded();
  return is_fenced ? heard + node.record().stale_fence : MonotonicTime::Never();
}

void Lifecycle::MissNode(Run& run, Node& node, v1::NodeRemoved::Why why, const std::string& reason, bool is_confirmed,
                         CauseCandidate candidate) {
  const bool is_harmless = run.record().phase == v1::RUN_PHASE_RUNNING && node.IsAllDone();
  const StreamId stream = node.stream;
  MarkLost(run, node, why, reason, is_confirmed);
  context_.CloseStreamOf(stream);
  if (is_harmless) return CheckSuccess(run);  // the run may have waited only for this node
  Disturb(run, std::move(candidate));
  // When a network switch fails, thousands of nodes are lost in one tick. EndTick then checks all nodes only once.
  if (is_ticking_) {
    to_try_.insert(run.handle);
  } else {
    TryNextRound(run);
  }
}

void Lifecycle::ConfirmDead(Run& run, Node& node, const std::string& reason) {
  if (node.record().stale_incarnation == 0) return;
  v1::Record record = context_.NewRecord();
  v1::IncarnationGone& gone = *record.mutable_incarnation_gone();
  SetHead(gone, run, node);
  gone.set_incarnation(node.record().stale_incarnation);
  gone.set_reason(reason);
  context_.Write(std::move(record));
  node.stale_end = MonotonicTime::Never();
  context_.Schedule(node);
}

void Lifecycle::On(const SteerRequested& event) {
  Answer answer{event.query, absl::OkStatus(), v1::SteerReply()};
  const v1::SteerRequest& request = event.request;
  Run* run = FindNamed(context_.state, request.job_id(), request.run());
  absl::StatusOr<std::string> text;
  if (run == nullptr) {
    text = NoSuchRun(request.job_id(), request.run());
  } else if (event.seen_round && *event.seen_round != run->record().round) {
    text = absl::FailedPreconditionError(absl::StrCat("run ", run->record().number, " of job ", run->record().job_id,
                                                      " is in round ", run->record().round, " now, no longer in round ",
                                                      *event.seen_round, ": look at the job before you try again"));
  } else if (request.action() == v1::SteerRequest::DRAIN || request.action() == v1::SteerRequest::UNDRAIN) {
    text = Drain(*run, request);
  } else if (!run->IsUnderWay()) {
    text = absl::FailedPreconditionError(absl::StrCat(
        "run ", run->record().number, " of job ", run->record().job_id, " is ", RunPhaseName(run->record()),
        ": there are no ranks that could start ", request.action() == v1::SteerRequest::FENCE ? "elsewhere" : "again"));
  } else if (request.action() == v1::SteerRequest::FENCE) {
    text = Fence(*run, request);
  } else if (request.action() == v1::SteerRequest::RESTART) {
    text = RestartByHand(*run, request);
  } else {  // the service refuses unknown actions before; if one comes here, nothing changes
    text = absl::InvalidArgumentError(absl::StrCat("action ", static_cast<int>(request.action()), " is not known"));
  }
  answer.status = text.status();
  if (text.ok()) {
    v1::SteerReply reply;
    reply.set_run(run->record().number);
    reply.set_text(*text);
    answer.reply = std::move(reply);
  }
  context_.effects.push_back(std::move(answer));
}

absl::StatusOr<std::string> Lifecycle::RestartByHand(Run& run, const v1::SteerRequest& request) {
  if (run.record().phase == v1::RUN_PHASE_RECOVERING && !run.IsRoundBehind()) {
    return absl::FailedPreconditionError(
        absl::StrCat("run ", run.record().number, " of job ", run.record().job_id,
                     " is being restarted already; `ms-ctl status` shows what it waits for"));
  }
  const uint32_t round = std::max(run.record().round, run.round_elsewhere);
  const std::string text = absl::StrCat("all processes of job ", run.record().job_id, " are being restarted: round ",
                                        round + 1, " of run ", run.record().number, " comes next");
  RestartAsDecided(run,
                   absl::StrCat("restarted by ", request.user().empty() ? "a user" : request.user(),
                                request.reason().empty() ? "" : ": ", request.reason()),
                   round);
  return text;
}

void Lifecycle::RestartAsDecided(Run& run, const std::string& why, uint32_t round) {
  AbortRound(run, Decision(v1::Cause::STOPPED_BY_USER, why, "", context_.now.monotonic), absl::ZeroDuration(), round);
  TryNextRound(run);
}

absl::StatusOr<std::string> Lifecycle::Fence(Run& run, const v1::SteerRequest& request) {
  Node* found = run.nodes.Find(request.node_id());
  if (found == nullptr && run.unquit.erase(request.node_id()) > 0) {
    TryNextRound(run);
    return absl::StrCat("the processes of node ", request.node_id(), ", which has left, count as ended");
  }
  if (found == nullptr) return NoSuchNode(run, request.node_id());
  Node& node = *found;
  if (node.stream != 0) {
    return absl::FailedPreconditionError(absl::StrCat(NodeText(node),
                                                      " is connected, so its processes run: end its "
                                                      "agent (SIGTERM) instead"));
  }
  if (node.record().is_lost && node.record().stale_incarnation == 0) {
    return absl::FailedPreconditionError(
        absl::StrCat("the processes of ", NodeText(node), " are known to have ended already"));
  }
  const std::string why = absl::StrCat("fenced by ", request.user().empty() ? "a user" : request.user());
  const std::string text =
      absl::StrCat("the processes of ", NodeText(node), " count as ended: its ranks may start elsewhere");
  if (node.record().is_lost) {
    ConfirmDead(run, node, why);
    TryNextRound(run);
  } else {
    LoseNode(run, node, why, true, 0);
  }
  return text;
}

}  // namespace muster::scheduler
