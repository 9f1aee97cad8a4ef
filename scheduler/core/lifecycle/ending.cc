// Removes nodes and ends runs.
#include <algorithm>

#include "absl/strings/str_cat.h"
#include "common/base/limits.h"
#include "common/base/reason.h"
#include "scheduler/core/facts/diagnosis.h"
#include "scheduler/core/facts/progress.h"
#include "scheduler/core/lifecycle/lifecycle.h"
#include "scheduler/core/places/admission.h"
#include "scheduler/core/places/agreed_settings.h"
#include "scheduler/core/views/views.h"

namespace muster::scheduler {
namespace {

// A planned stop ends after this time even if an agent has not reported the end of its processes.
constexpr absl::Duration kMaxPlannedStop = absl::Minutes(10);

// The scheduler waits at most stop_timeout plus this time for the agents of an ended run to settle. After that the run
// counts as settled anyway.
constexpr absl::Duration kSettleSlack = absl::Seconds(15);

// True if the cause is a failure; false if it is a decision of a person or the scheduler.
bool IsOfTheJob(v1::Cause::Kind kind) {
  return kind == v1::Cause::PROCESS_SIGNALED || kind == v1::Cause::PROCESS_EXITED || kind == v1::Cause::LAUNCH_FAILED ||
         kind == v1::Cause::NODE_LOST;
}

// Returns the first known `waited_for`: only early candidates have one, because it is not known once the round ends.
std::string WaitedFor(const std::vector<CauseCandidate>& candidates) {
  for (const CauseCandidate& candidate : candidates) {
    if (!candidate.waited_for.empty()) return candidate.waited_for;
  }
  return "";
}

void DescribeGivingUp(const Run& run, v1::Cause& cause) {
  const uint32_t restarts = run.record().restart_count;
  const auto& first = run.record().first_abort;
  cause.set_text(absl::StrCat(
      "gave up after ", restarts, restarts == 1 ? " restart" : " restarts", " (--max_restarts ", run.MaxRestarts(),
      " an hour", IsWithoutProgress(run) ? ", and one without progress counts twice" : "", "): ", cause.text(),
      !first                          ? ""
      : first->text() == cause.text() ? "; the first failure was the same"
                                      : absl::StrCat("; the first failure: ", first->text())));
  cause.set_kind(v1::Cause::GAVE_UP);
}

bool MayStillReport(const Run& run) {
  for (const auto& [id, node] : run.nodes) {
    if (node.record().is_lost) continue;
    for (const SlotState& slot : node.record().slots) {
      if (slot.MayRun()) return true;
    }
  }
  return false;
}

}  // namespace

void Lifecycle::On(const StopRequested& event) {
  Answer answer{event.query, absl::OkStatus(), v1::StopReply()};
  const v1::StopRequest& request = event.request;
  Run* run = FindNamed(context_.state, request.job_id(), request.run());
  if (run == nullptr) {
    answer.status = NoSuchRun(request.job_id(), request.run());
  } else if (run->HasEnded()) {
    answer.status =
        absl::FailedPreconditionError(absl::StrCat("run ", run->record().number, " of job ", run->record().job_id,
                                                   " has ", RunPhaseName(run->record()), " already"));
  } else {
    v1::StopReply reply;
    reply.set_run(run->record().number);
    reply.set_phase(run->record().phase);
    answer.reply = std::move(reply);
    // A run that is stopping already keeps its cause.
    if (run->record().phase != v1::RUN_PHASE_STOPPING)
      Fail(*run, Decision(v1::Cause::STOPPED_BY_USER,
                          absl::StrCat("stopped by ", request.user().empty() ? "a user" : request.user(),
                                       request.reason().empty() ? "" : ": ", request.reason()),
                          "", context_.now.monotonic));
  }
  context_.effects.push_back(std::move(answer));
}

// A node's armed fence must be known even after a crash of the scheduler, and must never count as shorter than it is.
// So it counts only if it equals the fence that agents are sent now.
void Lifecycle::NoteFence(Run& run, Node& node, absl::Duration armed) {
  if (armed != context_.FenceTimeout(run)) armed = absl::ZeroDuration();
  if (armed == node.record().armed_fence || run.IsOver()) return;
  v1::Record record = context_.NewRecord();
  v1::NodeReported& reported = *record.mutable_node_reported();
  SetHead(reported, run, node);
  reported.set_incarnation(node.record().incarnation);
  reported.set_armed_fence_ms(static_cast<uint32_t>(absl::ToInt64Milliseconds(armed)));
  context_.Write(std::move(record));
}

// Makes the agents disarm their fences, because the scheduler is going to end. While no scheduler runs, no rank can
// start elsewhere, so no fence is needed. An agent can't find this out by itself: a refused connection may also come
// from a firewall. The record comes before the message, because the next scheduler process must not rely on a fence
// that was disarmed.
void Lifecycle::SayGoingAway() {
  for (auto& [job_id, job] : context_.state.jobs) {
    for (auto& [number, run] : job.runs) {
      if (run.HasEnded()) continue;
      for (auto& [id, node] : run.nodes) {
        if (node.stream == 0) continue;
        NoteFence(run, node, absl::ZeroDuration());
        Message message = context_.NewMessage();
        message->mutable_going_away();
        context_.SendTo(node.stream, std::move(message));
      }
    }
  }
}

void Lifecycle::On(const DrainRequested& event) {
  context_.is_draining = true;
  if (!event.fails_runs) return SayGoingAway();
  for (auto& [job_id, job] : context_.state.jobs) {
    for (auto& [number, run] : job.runs) {
      if (run.HasEnded()) continue;
      CauseCandidate candidate =
          Decision(v1::Cause::SCHEDULER_STOPPED,
                   "the scheduler was stopped, and without a journal it cannot come back to its jobs",
                   "give ms-scheduler a --journal_path (or MS_RECOVERY_PATH), so that running jobs survive its restart",
                   context_.now.monotonic);
      if (run.record().phase == v1::RUN_PHASE_STOPPING && !run.candidates.empty())
        candidate = ChooseCause(run.candidates);  // it was failing already
      End(run, false, candidate.cause);
    }
  }
}

// Ends the challenge without a decision. The challenger's join is handled again after this event.
void Lifecycle::ReleaseChallenger(Node& node) {
  if (node.challenger == nullptr) return;
  context_.requeued.push_back(std::move(node.challenger->join));
  context_.streams.erase(context_.requeued.back().stream);
  node.challenger.reset();
}

void Lifecycle::RemoveNode(Run& run, Node& node, v1::NodeRemoved::Why why, const std::string& reason,
                           bool is_confirmed) {
  ReleaseChallenger(node);
  places_.Detach(run, node);
  places_.Release(node);
  run.waiting_cache.is_valid = false;
  run.holding_up -= node.holds_up ? 1 : 0;
  if (node.must_quit && node.record().quit_round < run.record().round) {
    // A journal that is older than the agents' state may not know the fence that they have now.
    const bool is_fenced =
        node.record().armed_fence > absl::ZeroDuration() && !node.IsFenceUnguarded() && !run.IsRoundBehind();
    run.unquit[node.record().id] = {node.record().incarnation,
                                    is_fenced ? node.last_seen + node.record().armed_fence : MonotonicTime::Never()};
    context_.Schedule(run);
  }

  v1::Record record = context_.NewRecord();
  v1::NodeRemoved& removed = *record.mutable_node_removed();
  SetHead(removed, run, node);
  removed.set_incarnation(node.record().incarnation);
  removed.set_why(why);
  removed.set_reason(reason);
  removed.set_is_confirmed(is_confirmed);
  // Before the first round, the run's settings come from the scheduler and from the nodes that are still there.
  *removed.mutable_settings() = run.record().phase == v1::RUN_PHASE_FORMING
                                    ? SettingsWithout(context_.options.own, run, node.record().id)
                                    : run.record().settings;
  context_.Write(std::move(record));
  places_.NoteHeld(run);
}

void Lifecycle::LoseNode(Run& run, Node& node, const std::string& why, bool is_confirmed, int signal) {
  CauseCandidate candidate = CandidateFrom(node, v1::Cause::NODE_LOST, why, signal, context_.now.monotonic);
  candidate.cause.set_reason(std::string(is_confirmed ? reason::kAgentEnded : reason::kNodeLost));
  const bool held_ranks = run.record().round > 0 && !node.record().is_spare;
  if (GoesOnWithout(run, node)) {
    return MissNode(run, node, v1::NodeRemoved::LOST, why, is_confirmed, std::move(candidate));
  }
  const StreamId stream = node.stream;  // a copy: RemoveNode destroys the node
  if (stream != 0) {
    Message message = context_.NewMessage();
    *message->mutable_refusal() =
        MakeRefusal(v1::Refusal::NODE_LOST, absl::StrCat("node ", node.record().id, " was given up: ", why));
    message->mutable_refusal()->set_ranks_are_free(true);  // no round comes after this one
    context_.SendTo(stream, std::move(message), true);
  }
  RemoveNode(run, node, v1::NodeRemoved::LOST, why, is_confirmed);
  context_.CloseStreamOf(stream);
  if (held_ranks && (run.record().phase == v1::RUN_PHASE_RUNNING || run.record().phase == v1::RUN_PHASE_STOPPING)) {
    Fail(run, std::move(candidate));
  }
  if (run.record().phase == v1::RUN_PHASE_FORMING) TryCloseRound(run);
  CheckSettled(run);
}

// The first failure stops all nodes at once; FixCauseIfKnown decides the cause a little later. A forming run ends at
// once, because it has no processes to wait for.
void Lifecycle::Fail(Run& run, CauseCandidate candidate, bool gives_up) {
  if (run.HasEnded()) return;
  if (IsOfAPeer(candidate.cause.reason())) candidate.waited_for = WaitedFor(run);
  if (run.record().phase == v1::RUN_PHASE_FORMING) return End(run, false, candidate.cause);
  if (run.record().phase != v1::RUN_PHASE_STOPPING) {
    v1::Record record = context_.NewRecord();
    v1::RunFailing& failing = *record.mutable_run_failing();
    SetHead(failing, run);
    *failing.mutable_first() = candidate.cause;
    failing.set_has_given_up(gives_up);
    context_.Write(std::move(record));
    if (!IsInPlannedStop(run)) store_.EndWaits(run);
    // An earlier restart that a person asked for is no failure, so it is not a candidate.
    std::erase_if(run.candidates,
                  [](const CauseCandidate& known) { return known.cause.kind() == v1::Cause::STOPPED_BY_USER; });
    run.rejoin_deadline = run.restart_at = MonotonicTime::Never();
    run.cause_deadline = context_.now.monotonic + CauseWait(run);
    context_.Schedule(run);
    for (auto& [id, node] : run.nodes) {
      ReleaseChallenger(node);  // the challenger can only join the next run
      node.restart_at = node.stale_end = MonotonicTime::Never();
    }
    SendDesiredToAll(run, true);
  }
  if (run.candidates.size() < kMaxCandidates) run.candidates.push_back(std::move(candidate));
  FixCauseIfKnown(run);
}

// In a planned stop the run ends late, because its processes may use the store until the run ends. Each agent kills its
// last processes after its own --stop_timeout, which the scheduler does not know.
absl::Duration Lifecycle::CauseWait(const Run& run) const {
  if (!IsInPlannedStop(run)) return kCauseWait;
  return std::max(kMaxPlannedStop, context_.options.stop_timeout + kCauseWait);
}

void Lifecycle::FixCauseIfKnown(Run& run) {
  if (run.record().phase != v1::RUN_PHASE_STOPPING || run.candidates.empty()) return;
  if (context_.now.monotonic < run.cause_deadline && MayStillReport(run)) return;
  v1::Cause cause = ChooseCause(run.candidates).cause;
  if (cause.remedy().empty() && (IsOfTheJob(cause.kind()) || run.record().has_given_up)) {
    cause.set_remedy(RemedyOf(cause, {.recovers = run.Recovers(),
                                      .has_given_up = run.record().has_given_up,
                                      .waited_for = WaitedFor(run.candidates)}));
  }
  if (run.record().has_given_up) DescribeGivingUp(run, cause);
  End(run, false, cause);
}

void Lifecycle::End(Run& run, bool succeeded, const v1::Cause& cause) {
  v1::Record record = context_.NewRecord();
  v1::RunEnded& ended = *record.mutable_run_ended();
  SetHead(ended, run);
  ended.mutable_outcome()->set_succeeded(succeeded);
  ended.mutable_outcome()->set_ended_unix_ms(context_.now.wall.unix_ms);
  if (!succeeded) *ended.mutable_outcome()->mutable_cause() = cause;
  ended.set_lasted_ms(absl::ToInt64Milliseconds(context_.now.monotonic - run.opened));
  context_.Write(std::move(record));
  store_.EndWaits(run);
  run.candidates.clear();
  run.topo_deadline = run.spare_deadline = run.cause_deadline = MonotonicTime::Never();
  run.rejoin_deadline = run.restart_at = MonotonicTime::Never();
  run.settle_deadline = context_.now.monotonic + context_.options.stop_timeout + kSettleSlack;
  run.forget_at = context_.now.monotonic + KeepRunsFor();
  for (auto& [id, node] : run.nodes) {
    ReleaseChallenger(node);
    if (node.stream == 0) {
      node.grace_end =
          node.record().is_lost ? context_.now.monotonic : context_.now.monotonic + context_.options.disconnect_grace;
    }
    node.restart_at = node.stale_end = MonotonicTime::Never();
    places_.NoteHeld(run, node);
    context_.Schedule(node);
  }
  places_.NoteHeld(run);
  context_.Schedule(run);
  SendDesiredToAll(run, false);
  context_.effects.push_back(ForgetPeers{run.record().job_id, run.record().number});
  CheckSettled(run);
}

// Returns how long to keep a run that has ended: long enough for disconnected agents to come back and get the outcome.
absl::Duration Lifecycle::KeepRunsFor() const {
  return std::max(context_.options.keep_runs_for,
                  context_.options.stop_timeout + context_.options.disconnect_grace + 2 * kSettleSlack);
}

void Lifecycle::CheckSuccess(Run& run) {
  if (run.record().phase != v1::RUN_PHASE_RUNNING) return;
  for (const auto& [id, node] : run.nodes) {
    if (node.record().is_spare) continue;
    for (const SlotState& slot : node.record().slots) {
      if (slot.phase != SlotState::Phase::kDone) return;
    }
  }
  End(run, true, {});
}

// The run has settled once every agent knows the outcome or is gone.
void Lifecycle::CheckSettled(Run& run) {
  if (!run.HasEnded() || run.is_settled) return;
  if (context_.now.monotonic < run.settle_deadline) {
    for (const auto& [id, node] : run.nodes) {
      const bool is_away = node.stream == 0 && context_.now.monotonic >= node.grace_end;
      if (!node.is_settled && !is_away) return;
    }
  }
  run.is_settled = true;
  run.settle_deadline = MonotonicTime::Never();
  context_.Schedule(run);
  context_.effects.push_back(RunSettled{run.record().job_id, run.record().number, run.record().outcome});
}

void Lifecycle::PruneRuns(Job& job) {
  size_t ended = 0;
  for (const auto& [number, run] : job.runs) ended += run.HasEnded() ? 1 : 0;
  for (auto it = job.runs.begin(); it != job.runs.end() && ended > kMaxEndedRunsPerJob;) {
    Run& run = it->second;
    ++it;  // ForgetRun erases the run
    if (!run.HasEnded()) continue;
    --ended;
    ForgetRun(run);
  }
}

void Lifecycle::ForgetRun(Run& run) {
  for (auto& [id, node] : run.nodes) {
    const StreamId stream = node.stream;
    places_.Detach(run, node);
    context_.CloseStreamOf(stream);
    places_.Release(node);
  }
  places_.Release(run);
  v1::Record record = context_.NewRecord();
  record.mutable_run_forgotten()->set_job_id(run.record().job_id);
  record.mutable_run_forgotten()->set_run(run.record().number);
  context_.Write(std::move(record));
}

// Forgets one job in which no node takes part: its runs have ended and settled, or wait without any node.
bool Lifecycle::MakeRoomForAJob() {
  for (auto& [job_id, job] : context_.state.jobs) {
    const bool is_idle = std::all_of(job.runs.begin(), job.runs.end(), [](const auto& entry) {
      const Run& run = entry.second;
      return run.HasEnded() ? run.is_settled : run.nodes.empty();
    });
    if (!is_idle) continue;
    Job& victim = job;
    while (victim.runs.size() > 1) ForgetRun(victim.runs.begin()->second);
    ForgetRun(victim.runs.begin()->second);  // this also forgets the job
    return true;
  }
  return false;
}

}  // namespace muster::scheduler
