// When and how the agent ends.
//
//   kind       because                                      once nothing is left                      at the latest
//   hopeless   refused, or the scheduler is lost for good   ends at once                              -
//                (for the scheduler that this agent started: its process has ended)
//   outcome    the run has one                              ends when its reports are acknowledged    3 s later
//   leaving    a signal came, or the keeper is dead         says so; ends when that is acknowledged   2 s later
//
// Hopeless and outcome replace leaving; nothing replaces them. Without an open stream the agent waits for no
// acknowledgement.
//
// The exit code is that of the first row that applies:
//
//   a signal ended the agent                                  128 + signal
//   outcome: the run succeeded                                0
//   outcome: a person has stopped the run                     17
//   outcome: the run gave up                                  16
//   outcome: a process of this agent had failed               that of the first process that failed
//   outcome: any other                                        12, 13 or 14, by its cause
//   the agent's own scheduler is lost: the whole job was      0
//     here and ended well
//   the agent's own scheduler is lost: otherwise              that of the first process that failed, else 14; 10 if the
//                                                             agent was never welcomed
//   any other ending                                          the code that EndHopeless or Leave was given
#include <csignal>
#include <utility>

#include "common/base/exit_codes.h"
#include "common/causes/outcome.h"
#include "worker_agent/core/impl.h"
#include "worker_agent/core/messages.h"

namespace muster::agent {
namespace {

constexpr absl::Duration kOutcomeAckTimeout = absl::Seconds(3);
constexpr absl::Duration kLeavingAckTimeout = absl::Seconds(2);

int ExitCodeOf(const v1::Outcome& outcome, std::optional<int> own_failure) {
  if (outcome.succeeded()) return kExitSuccess;
  if (WasStopped(outcome)) return kExitStopped;
  if (outcome.cause().kind() == v1::Cause::GAVE_UP) return kExitGaveUp;
  if (own_failure) return *own_failure;
  switch (outcome.cause().kind()) {
    case v1::Cause::NEVER_FORMED:
      return kExitNeverFormed;
    case v1::Cause::SCHEDULER_STOPPED:
      return kExitSchedulerLost;
    default:
      return kExitFailedElsewhere;
  }
}

}  // namespace

void AgentCore::Impl::EndByOutcome() {
  Ending ending;
  ending.kind = Ending::Kind::kOutcome;
  const v1::Cause& cause = desired_.outcome().cause();
  const bool are_lines_shown = cause.node_id() == membership_.node_id && Contains(options_.shown_ranks, cause.rank());
  ending.last_words = SayOutcome(options_.job_id, membership_.run, desired_.outcome(), are_lines_shown);
  // A hopeless ending stays hopeless, because there is no stream any more.
  if (!ending_ || ending_->kind == Ending::Kind::kLeaving) ending_ = std::move(ending);
}

void AgentCore::Impl::EndHopeless(int exit_code, Say last_word) {
  if (connector_.HasStream()) Emit(HangUp{});
  connector_.Stop();
  replacement_.Drop();
  reporter_.StreamClosed();
  peers_.OnStreamClosed(now_);
  Ending ending;
  ending.kind = Ending::Kind::kHopeless;
  // An agent that was already leaving keeps the exit code with which it leaves.
  ending.exit_code = ending_ ? ending_->exit_code : exit_code;
  ending.last_words.push_back(std::move(last_word));
  if (!ending_ || ending_->kind == Ending::Kind::kLeaving) ending_ = std::move(ending);
}

void AgentCore::Impl::Leave(int exit_code, int signal, const std::string& reason, Say last_word) {
  Emit(std::move(last_word));
  if (ending_) return;  // the agent is ending already
  Ending ending;
  ending.kind = Ending::Kind::kLeaving;
  ending.exit_code = exit_code;
  ending.leaving.set_signal(signal);
  ending.leaving.set_reason(reason);
  ending_ = std::move(ending);
  // Reports this before our processes have ended, so that the scheduler and the other nodes need not wait for their
  // end.
  if (processes_.IsAnyLeft()) reporter_.Add(ending_->LeavingEvent(false), now_);
}

void AgentCore::Impl::LeaveWithoutKeeper() {
  // While the scheduler decides about the failure that this agent has reported, the agent waits for that decision. It
  // can't take part in a new round, because it can start nothing.
  const bool may_be_judged = processes_.WasAnyLaunched() &&
                             (desired_.phase() == v1::RUN_PHASE_RUNNING || desired_.phase() == v1::RUN_PHASE_STOPPING);
  if (may_be_judged && SlotsToStart().empty()) return;
  Leave(kExitSignalBase + SIGKILL, SIGKILL, "its keeper process was killed",
        Say{Severity::kError, "leaving the job: nothing can be started any more"});
}

// If a stream is open, waits for its end: messages that come before it may say how the job ended.
void AgentCore::Impl::OnEvent(const OwnSchedulerLost& event) {
  own_scheduler_lost_ = event;
  if (!connector_.HasStream()) EndWithOwnScheduler();
}

bool AgentCore::Impl::EndWithOwnScheduler() {
  if (!own_scheduler_lost_ || desired_.has_outcome()) return false;
  const OwnSchedulerLost lost = *std::exchange(own_scheduler_lost_, std::nullopt);
  const std::optional<int> failure = processes_.FirstFailure();
  if (lost.has_whole_job && processes_.HaveAllEndedWell()) {
    EndHopeless(kExitSuccess, SayDoneWithoutScheduler(lost.how));
    return true;
  }
  if (processes_.IsAnyRunning()) Emit(SayOwnSchedulerEnded(lost.how));
  EndHopeless(membership_.IsWelcomed() ? failure.value_or(kExitSchedulerLost) : kExitUnreachable,
              SayOwnSchedulerLost(lost.how));
  return true;
}

void AgentCore::Impl::StepEnding() {
  if (!ending_ || processes_.IsAnyLeft()) return;
  if (!ending_->quiet_since) ending_->quiet_since = now_;
  switch (ending_->kind) {
    case Ending::Kind::kHopeless:
      return FinishNow();
    case Ending::Kind::kOutcome:
      return StepOutcome();
    case Ending::Kind::kLeaving:
      return StepLeaving();
  }
}

void AgentCore::Impl::StepOutcome() {
  ending_->give_up_at = *ending_->quiet_since + kOutcomeAckTimeout;
  if (connector_.IsOpen() && !reporter_.IsAllAcknowledged() && now_ < ending_->give_up_at) return;
  if (connector_.IsOpen()) {
    v1::AgentMessage message;
    *message.mutable_report() = reporter_.MakeReport(now_);
    message.mutable_report()->set_is_settled(true);
    SendToScheduler(std::move(message));
  }
  FinishNow();
}

void AgentCore::Impl::StepLeaving() {
  if (!connector_.IsOpen()) return FinishNow();
  if (!ending_->leaving.is_quiet()) reporter_.Add(ending_->LeavingEvent(true), now_);
  ending_->give_up_at = *ending_->quiet_since + kLeavingAckTimeout;
  if (reporter_.IsAllAcknowledged() || now_ >= ending_->give_up_at) FinishNow();
}

void AgentCore::Impl::FinishNow() {
  Finish finish;
  finish.outcome = desired_.outcome();
  finish.leaves_some = processes_.IsAnyLeft();
  if (ending_) {
    finish.exit_code = ending_->kind == Ending::Kind::kOutcome
                           ? ExitCodeOf(desired_.outcome(), processes_.FirstFailure())
                           : ending_->exit_code;
    for (Say& say : ending_->last_words) Emit(std::move(say));
  }
  if (end_signal_ != 0) finish.exit_code = kExitSignalBase + end_signal_;
  if (connector_.HasStream()) Emit(HangUp{});
  connector_.Stop();
  replacement_.Drop();
  Emit(std::move(finish));
  is_finished_ = true;
}

}  // namespace muster::agent
