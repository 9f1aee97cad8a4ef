// The scheduler's messages, and what the agent does with each.
//
// A refusal:
//
//   reason                                 never welcomed     welcomed before
//   TRY_LATER, STALE_CONNECT, STALE_TERM   tries again        tries again
//   one that this version doesn't know     tries again        tries again
//   NOT_AUTHORIZED                         ends with 15       tries again
//   CLUSTER_CHANGED                        joins again        joins again; 14 if it has started processes
//   RUN_UNKNOWN                            ends with 11       11; 0 if its processes have ended well
//   NODE_LOST                              ends with 13       13; kills at once unless its ranks are free
//   STALE_INCARNATION                      ends with 11       11; kills at once
//   DRAINED, by a person                   ends with 17       17
//   DRAINED, by the scheduler              ends with 0        0
//   all others                             ends with 11       11
//
// An agent that ends stops its processes with stop_signal and stop_timeout. If other processes may already write with
// the same ranks, it kills its own at once.
//
// The agent ignores an order (desired state) of an unknown phase, and a message of an unknown kind.
#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/base/exit_codes.h"
#include "common/base/limits.h"
#include "worker_agent/core/impl.h"
#include "worker_agent/core/messages.h"

namespace muster::agent {
namespace {

// Within this time, agents that were started together have all joined, and the progress of the job was logged once. The
// hint comes later, because each other line puts off the next line of progress.
constexpr absl::Duration kSoon = absl::Seconds(10);

// Limits the interval, because a wrong value from the scheduler must not make the agent spin or fall silent.
absl::Duration HeartbeatInterval(uint32_t ms, absl::Duration otherwise) {
  if (ms == 0) return otherwise;
  return std::clamp(absl::Milliseconds(ms), absl::Milliseconds(10), absl::Minutes(5));
}

}  // namespace

void AgentCore::Impl::OnWelcome(const v1::SchedulerMessage& message) {
  const v1::Welcome& welcome = message.welcome();
  if (connector_.IsOpen()) return;
  if (welcome.cluster_id() == membership_.cluster_id && message.term() < membership_.term) {
    Emit(HangUp{});
    return Redial("a scheduler of an older term answered");
  }
  const absl::Duration apart = connector_.ApartFor(now_);
  const bool is_new_run = membership_.IsOtherRun(welcome);
  if (is_new_run && processes_.WasAnyLaunched()) {  // our processes belong to a run that the scheduler no longer knows
    return EndHopeless(kExitSchedulerLost, SaySchedulerForgot(options_.scheduler));
  }
  if (is_new_run) {
    desired_.Clear();
    quit_round_ = checked_round_ = 0;
    peers_.Forget();
  }
  const bool is_replacement = connector_.IsDialingPromoted();
  connector_.OnWelcome(now_);
  replacement_.OnWelcome(now_);
  TakeWelcome(message);
  if (is_new_run || !welcome.is_resumed()) return Emit(SayJoined(welcome));
  Emit(is_replacement ? replacement_.SayTaken() : SayReconnected(apart));
}

void AgentCore::Impl::TakeWelcome(const v1::SchedulerMessage& message) {
  const v1::Welcome& welcome = message.welcome();
  membership_.Take(message);
  unwelcome_text_.clear();
  is_shut_out_ = false;
  heartbeat_interval_ = HeartbeatInterval(welcome.heartbeat_interval_ms(), heartbeat_interval_);
  // A scheduler that uses an older copy of its journal has lost events that were acknowledged. So this node reports
  // again that it has quit the round.
  if (welcome.events_through() < reporter_.AcknowledgedThrough()) quit_round_ = 0;
  reporter_.Acknowledge(welcome.events_through());
  // The first heartbeat comes at a random time within the interval, so that agents that joined together don't all send
  // at once.
  reporter_.StreamOpened(now_, heartbeat_interval_, heartbeat_interval_ * jitter_.Factor(0.25, 1));
  heartbeat_path_.StreamOpened(now_, welcome.has_datagrams(), jitter_);
  takes_progress_ = welcome.datagrams().takes_progress();
  fence_.OnWelcome(absl::Milliseconds(welcome.fence_timeout_ms()), connector_.dialed_at(), heartbeat_interval_, now_,
                   effects_);
  Emit(MakeLastReport());
}

SetLastReport AgentCore::Impl::MakeLastReport() const {
  v1::LastReportRequest last_report;
  last_report.set_cluster_id(membership_.cluster_id);
  last_report.set_job_id(options_.job_id);
  last_report.set_run(membership_.run);
  last_report.set_node_id(membership_.node_id);
  last_report.set_incarnation(options_.incarnation);
  return {std::move(last_report), membership_.run_opened_unix_ms};
}

void AgentCore::Impl::OnReplacementMessage(const v1::SchedulerMessage& message) {
  if (message.has_refusal()) {
    // If the refusal concerns this node, and not only the replacement, it also comes on the open stream, or at the next
    // dial when that stream breaks.
    return replacement_.GiveUp(message.refusal().text(), absl::Milliseconds(message.refusal().retry_after_ms()), now_,
                               effects_);
  }
  if (!message.has_welcome()) return;
  if (membership_.IsOtherRun(message.welcome()) || message.term() < membership_.term) {
    return replacement_.GiveUp("another scheduler answered, or one of an older term", absl::ZeroDuration(), now_,
                               effects_);
  }
  reporter_.StreamClosed();
  peers_.OnStreamClosed(now_);
  const uint64_t replaced = connector_.SwitchTo(replacement_.Take(), now_);
  replacement_.OnWelcome(now_);
  Emit(HangUp{replaced});
  stacks_.OnStreamReplaced(replaced, connector_.connect_seq());
  TakeWelcome(message);
  Emit(replacement_.SayTaken());
}

void AgentCore::Impl::OnRefusal(const v1::Refusal& refusal) {
  is_shut_out_ = false;
  reporter_.StreamClosed();
  peers_.OnStreamClosed(now_);
  if (!IsKnown(refusal.reason())) {
    Emit(HangUp{});
    return Redial(WhyRefused(refusal));
  }
  const Say refused = SayRefused(options_.scheduler, refusal);
  if (refusal.reason() == v1::Refusal::DRAINED) {
    return EndHopeless(refusal.by_scheduler() ? kExitSuccess : kExitStopped, SayDrained(refusal));
  }
  if (!membership_.IsWelcomed() && options_.node_id.empty() && !membership_.node_id.empty() &&
      refusal.reason() != v1::Refusal::TRY_LATER) {
    membership_.node_id.clear();  // the id of a former start is of no use any more
    Emit(HangUp{});
    return Redial(refusal.text());
  }
  switch (refusal.reason()) {
    case v1::Refusal::TRY_LATER:
      Emit(HangUp{});
      replacement_.Drop();
      return connector_.OnTryLater(absl::StrCat("it asks to try again later: ", refusal.text()),
                                   absl::Milliseconds(refusal.retry_after_ms()), now_, effects_);
    case v1::Refusal::STALE_CONNECT:
      Emit(HangUp{});
      return Redial("another connect of this agent came first");
    case v1::Refusal::STALE_TERM:  // a scheduler with the newest journal may still be found
      Emit(HangUp{});
      return Redial(refusal.text());
    case v1::Refusal::CLUSTER_CHANGED:
      return OnClusterChanged(refusal);
    case v1::Refusal::RUN_UNKNOWN:
      if (!processes_.HaveAllEndedWell()) return EndHopeless(kExitRefused, refused);
      return EndHopeless(kExitSuccess, Say{Severity::kInfo, "the run is over; the processes of this node ended well"});
    case v1::Refusal::NODE_LOST:
      if (!refusal.ranks_are_free()) stopping_.KillAll(now_, effects_);
      return EndHopeless(kExitFailedElsewhere, refused);
    case v1::Refusal::STALE_INCARNATION:
      stopping_.KillAll(now_, effects_);
      return EndHopeless(kExitRefused, refused);
    case v1::Refusal::NOT_AUTHORIZED:
      return OnNotAuthorized(refusal);
    default:
      return EndHopeless(kExitRefused, refused);
  }
}

// After a welcome the agent keeps trying. The scheduler may have a wrong configuration, or list too many certificates
// as revoked. Its user must have time to fix that before a running job loses its processes.
void AgentCore::Impl::OnNotAuthorized(const v1::Refusal& refusal) {
  if (!membership_.IsWelcomed()) return EndHopeless(kExitSecurity, SayRefused(options_.scheduler, refusal));
  Emit(HangUp{});
  is_shut_out_ = true;
  if (refusal.text() != unwelcome_text_) {
    unwelcome_text_ = refusal.text();
    Emit(SayUnwelcome(options_.scheduler, refusal.text(), connector_.patience()));
  }
  Redial(refusal.text());
}

void AgentCore::Impl::OnClusterChanged(const v1::Refusal& refusal) {
  if (processes_.WasAnyLaunched()) return EndHopeless(kExitSchedulerLost, SaySchedulerForgot(options_.scheduler));
  // No process was started here, so the agent joins the new cluster as if for the first time.
  membership_ = Membership{};
  membership_.node_id = options_.node_id;
  desired_.Clear();
  quit_round_ = checked_round_ = 0;
  reporter_.ForgetEvents();
  fence_.OnClusterChanged(effects_);
  Emit(HangUp{});
  Redial(refusal.text().empty() ? "a different scheduler answers now; joining it" : refusal.text());
}

void AgentCore::Impl::OnAcknowledgement(const v1::Acknowledgement& acknowledgement) {
  reporter_.Acknowledge(acknowledgement.events_through());
  // Datagrams and messages on the stream may overtake each other, so the rest of an older answer is ignored.
  if (acknowledgement.heartbeat_seq() < answered_seq_) return;
  answered_seq_ = acknowledgement.heartbeat_seq();
  heartbeat_interval_ = HeartbeatInterval(acknowledgement.heartbeat_interval_ms(), heartbeat_interval_);
  reporter_.SetInterval(heartbeat_interval_);
  fence_.OnAnswer(absl::Milliseconds(acknowledgement.fence_timeout_ms()),
                  reporter_.TakeSentAt(acknowledgement.heartbeat_seq()), heartbeat_interval_, now_, effects_);
  if (!acknowledgement.waiting().text().empty()) ShowWaiting(acknowledgement.waiting());
}

void AgentCore::Impl::ShowWaiting(const v1::WaitStatus& waiting) {
  const bool is_soon = now_ - connector_.dialed_at() < kSoon;
  const bool is_first_round = !processes_.WasAnyLaunched();
  if (is_first_round && !is_soon && !options_.scheduler_hint.empty() && !std::exchange(has_hinted_, true)) {
    Emit(Say{Severity::kWarning, options_.scheduler_hint});
  }
  Emit(SayProgress(waiting));
}

void AgentCore::Impl::OnDesired(const v1::DesiredState& desired) {
  // Ignores orders of another run, orders for an older round, and, once it has the outcome, all orders.
  if (desired.run() != membership_.run || desired.round() < desired_.round() || desired_.has_outcome()) return;
  if (!IsKnown(desired.phase())) return;
  // An order to stop may overtake the order to start, so a round that was given up is not begun again.
  if (desired.phase() == v1::RUN_PHASE_RUNNING && desired.round() == desired_.round() &&
      desired_.phase() != v1::RUN_PHASE_RUNNING && desired_.round() > 0) {
    return;
  }
  if (desired.phase() == v1::RUN_PHASE_RECOVERING && desired_.phase() == v1::RUN_PHASE_RUNNING) {
    Emit(Say{Severity::kInfo, absl::StrCat("round ", desired.round(), " is given up; ", desired.reason())});
  }
  desired_ = desired;
  // A scheduler that was restarted does not know that this node has passed the check.
  if (desired.check_node() && checked_round_ == desired.round() && !is_checking_ && !ending_) ReportNodeCheck();
}

void AgentCore::Impl::OnProbe(const v1::Probe& probe) {
  v1::AgentMessage message;
  message.mutable_probe_answer()->set_probe(probe.probe());
  SendToScheduler(std::move(message));
}

// The keeper answers at once, so any number of these queries may be under way.
void AgentCore::Impl::OnLogQuery(const v1::LogQuery& query) {
  if (query.slot() >= static_cast<uint32_t>(options_.node.slots_size())) return;
  Emit(ReadLog{query.query(),
               connector_.connect_seq(),
               query.slot(),
               std::min(query.lines(), kMaxLogLines),
               {query.slot(), query.round(), query.attempt()},
               query.after()});
}

}  // namespace muster::agent
