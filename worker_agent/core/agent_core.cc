#include "worker_agent/core/agent_core.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/base/check.h"
#include "common/base/exit_codes.h"
#include "common/base/limits.h"
#include "common/base/reason.h"
#include "common/base/text.h"
#include "worker_agent/core/impl.h"
#include "worker_agent/core/messages.h"

namespace muster::agent {
namespace {

constexpr absl::string_view kKeeperRemedy =
    "find what killed it on {host}: an administrator, earlyoom or systemd-oomd, or the kernel when memory ran out "
    "(`dmesg`)";
constexpr absl::Duration kTryInterval = absl::Seconds(3);  // one try of MS_CLUSTER_RETRY_NUM

constexpr const char* kNoAnswer = "it accepted the connection but did not answer within 15 s";

constexpr int kKillSignal = 9;

// A renewed certificate is shown to the scheduler within this many heartbeats. Their interval is longer in a large
// cluster.
constexpr int kReplacementHeartbeats = 5;

// The time for a heartbeat over the stream and its answer, even with a lost packet and a slow disk.
constexpr absl::Duration kRepairTime = absl::Seconds(2);

// An agent that wakes up this much too late was stopped, and maybe its processes with it (a paused virtual machine, a
// frozen cgroup).
constexpr absl::Duration kAsleep = absl::Seconds(2);

}  // namespace

AgentCore::Impl::Impl(AgentOptions options)
    : options_(std::move(options)),
      dial_jitter_(options_.incarnation),
      connector_(dial_jitter_, options_.retry_num * kTryInterval, options_.scheduler, options_.scheduler_hint),
      replacement_(dial_jitter_, options_.scheduler),
      jitter_(~options_.incarnation),
      fence_(options_.fence_stop_timeout),
      stopping_(processes_, options_.stop_timeout, options_.passes_interrupt),
      held_ends_(reporter_),
      peers_(jitter_, connector_),
      stacks_(connector_, processes_, options_.node.slots_size()) {
  membership_.node_id = options_.node_id.empty() ? options_.kept_node_id : options_.node_id;
  MUSTER_CHECK(options_.incarnation != 0, "an incarnation is not 0");
}

Effects AgentCore::Impl::Apply(const Event& event, MonotonicTime now) {
  if (is_finished_) return {};
  now_ = std::max(now, now_);
  if (const absl::Duration late = now_ - NextDeadline(); late >= kAsleep) {
    progress_.Excuse(late);
    connector_.Excuse(late);
  }
  effects_.clear();
  std::visit([this](const auto& e) { OnEvent(e); }, event);
  if (!is_finished_) RunTimers();
  if (!is_finished_) Converge();
  if (!is_finished_) StepEnding();
  if (!is_finished_) SendDueReport();
  return std::exchange(effects_, {});
}

void AgentCore::Impl::OnEvent(const Begin&) { connector_.Begin(now_); }

void AgentCore::Impl::OnEvent(const MessageReceived& event) {
  if (replacement_.Is(event.connect_seq)) return OnReplacementMessage(event.message);
  if (event.connect_seq != connector_.connect_seq() || !connector_.HasStream()) return;
  switch (event.message.kind_case()) {
    case v1::SchedulerMessage::kRefusal:
      return OnRefusal(event.message.refusal());
    case v1::SchedulerMessage::kWelcome:
      return OnWelcome(event.message);
    case v1::SchedulerMessage::kProbe:
      return OnProbe(event.message.probe());
    default:
      break;
  }
  // An agent that was not welcomed ignores all other messages. Every agent ignores those of a leader of an older term.
  if (!connector_.IsOpen() || event.message.term() < membership_.term) return;
  membership_.term = event.message.term();
  if (event.message.has_acknowledgement()) {
    heartbeat_path_.StreamAnswered(event.message.acknowledgement().heartbeat_seq());
    OnAcknowledgement(event.message.acknowledgement());
  }
  if (event.message.has_desired()) OnDesired(event.message.desired());
  if (event.message.has_going_away()) fence_.OnSchedulerLeaving(effects_);
  if (event.message.has_stack_query()) stacks_.OnQuery(event.message.stack_query(), effects_);
  if (event.message.has_log_query()) OnLogQuery(event.message.log_query());
}

void AgentCore::Impl::OnEvent(const HeartbeatAnswered& event) {
  if (event.connect_seq != connector_.connect_seq() || !connector_.IsOpen()) return;
  heartbeat_path_.DatagramAnswered(event.acknowledgement.heartbeat_seq());
  OnAcknowledgement(event.acknowledgement);
}

void AgentCore::Impl::OnEvent(const DialWaits& event) {
  if (replacement_.Is(event.connect_seq)) return replacement_.OnDialWaits(now_);
  connector_.OnDialWaits(event.connect_seq, now_, effects_);
}

void AgentCore::Impl::OnEvent(const StreamBroken& event) {
  if (replacement_.Is(event.connect_seq)) {
    return replacement_.OnFailure(event.text, absl::ZeroDuration(), now_, effects_);
  }
  if (event.connect_seq != connector_.connect_seq() || !connector_.HasStream()) return;
  reporter_.StreamClosed();
  peers_.OnStreamClosed(now_);
  if (replacement_.IsDialed()) return connector_.Promote(replacement_.Take(), now_);
  if (EndWithOwnScheduler()) return;
  is_shut_out_ = event.reason == BreakReason::kSecurity;
  if (is_shut_out_ && !membership_.IsWelcomed()) {
    return EndHopeless(kExitSecurity, SaySecurity(options_.scheduler, event.text));
  }
  const bool was_open = connector_.IsOpen();
  Redial(event.text);
  if (was_open && fence_.falls_at() && processes_.IsAnyLeft()) {
    Emit(SayFenceRuns(fence_.counted_on(), *fence_.falls_at() - now_));
  }
}

void AgentCore::Impl::OnEvent(const PeersFetched& event) { peers_.OnFetched(event, now_, effects_); }

void AgentCore::Impl::OnEvent(const ProcessHasStarted& event) {
  if (processes_.MarkStarted(event.key, event.pid)) reporter_.AddStart(event.key, event.pid, now_);
}

void AgentCore::Impl::OnEvent(const ProcessHasEnded& event) {
  ReportEnd(event.key, event.end, event.age, event.leaves_some);
}

void AgentCore::Impl::ReportEnd(const ProcessKey& key, const ProcessEnd& end, absl::Duration age, bool leaves_some) {
  if (!processes_.MarkEnded(key, end, leaves_some)) return;
  progress_.Forget(key);
  halted_.erase(key);
  const MonotonicTime happened = now_ - std::max(age, absl::ZeroDuration());
  // Once all processes of a node are reported as ended well, the scheduler counts it as free of processes, and may
  // start its ranks elsewhere. So an end is held back while something of the process is left.
  if (leaves_some && end.IsSuccess() && !end.was_stopped) {
    held_ends_.Hold(key, end, happened);
    if (processes_.Stuck().contains(key)) held_ends_.Report(key, true);
    return;
  }
  reporter_.AddEnd(key, end, happened);
  stopping_.NoteCleared();
}

void AgentCore::Impl::OnEvent(const NothingLeft& event) {
  if (!processes_.MarkCleared(event.key)) return;
  held_ends_.Report(event.key, false);
  stopping_.NoteCleared();
}

void AgentCore::Impl::OnEvent(const ProcessIsStuck& event) {
  const bool is_known = processes_.Stuck().contains(event.key);
  const absl::Duration age = std::max(event.age, absl::ZeroDuration());
  if (!processes_.MarkStuck(event.key, {event.pid, event.name, event.state, now_ - age})) return;
  held_ends_.Report(event.key, true);
  // An agent that is ending names all stuck processes at its end.
  if (!is_known && !ending_) {
    Emit(SayLeft({processes_.RankOf(event.key.slot), event.pid, event.name, event.state}, age));
  }
}

// The next report says that no fence is armed here. The scheduler's answer to it arms the fence again.
void AgentCore::Impl::OnEvent(const FenceHasFallen&) {
  fence_.OnFallen(effects_);
  if (!processes_.IsAnyLeft()) return;
  stopping_.NoteStopped(now_);
  Emit(SayFenceHasFallen(options_.scheduler, fence_.counted_on()));
}

void AgentCore::Impl::OnEvent(const ClockHasJumped& event) {
  wants_word_ = true;
  Emit(Say{
      Severity::kInfo,
      absl::StrCat(
          "the wall clock has jumped forward by ",
          absl::FormatDuration(absl::Floor(event.jump + absl::Milliseconds(500), absl::Seconds(1))),
          ": this machine may have been suspended, so its processes wait until the scheduler confirms their ranks")});
}

void AgentCore::Impl::OnEvent(const TlsChanged& event) {
  if (membership_.IsWelcomed()) Emit(MakeLastReport());
  if (event.has_new_certificate) {
    replacement_.Want(kReplacementHeartbeats * heartbeat_interval_, Replacement::Purpose::kNewCertificate, connector_,
                      now_);
  }
}

void AgentCore::Impl::OnEvent(const KeeperDied& event) {
  if (!event.leaves_some) {
    processes_.MarkAllCleared();
    held_ends_.ReportAll();
    stopping_.NoteCleared();
  }
  if (std::exchange(is_keeper_dead_, true)) return;
  Emit(Say{Severity::kError, "the keeper process was killed; the processes of this node ended with it"});
  // A process about which the keeper has reported nothing may never have been started.
  FailLaunch(processes_.Unconfirmed(desired_.round()), {.text = "the keeper process was killed",
                                                        .reason = std::string(reason::kKilledFromOutside),
                                                        .remedy = std::string(kKeeperRemedy)});
  ProcessEnd end;
  end.exit.signal = kKillSignal;
  end.was_stopped = stopping_.IsUnderWay();
  end.last_lines = {"the keeper process was killed"};
  for (const ProcessKey& id : processes_.Running()) ReportEnd(id, end, absl::ZeroDuration(), event.leaves_some);
}

void AgentCore::Impl::OnEvent(const EndSignal& event) {
  if (end_signal_ != 0) {
    if (!processes_.IsAnyLeft()) return;
    Emit(Say{Severity::kWarning, absl::StrCat("got ", NameOfSignal(event.signal), " again: killing the processes")});
    return stopping_.KillAll(now_, effects_);
  }
  end_signal_ = event.signal;
  stopping_.OnEndSignal(event.signal);
  const std::string name = NameOfSignal(event.signal);
  if (!membership_.IsWelcomed()) {
    Emit(Say{Severity::kInfo, absl::StrCat("got ", name, " before the job had begun: ending")});
    return FinishNow();
  }
  const absl::Duration interrupt_time = stopping_.InterruptTime();
  const bool is_interrupted = !stopping_.IsUnderWay() && interrupt_time > absl::ZeroDuration();
  const std::string what = !processes_.IsAnyLeft() ? "leaving the job"
                           : is_interrupted        ? InterruptingInWords(interrupt_time, options_.stop_timeout)
                                                   : "stopping the processes";
  Leave(kExitSignalBase + event.signal, event.signal, absl::StrCat("it got ", name),
        Say{Severity::kInfo, absl::StrCat("got ", name, ": ", what)});
}

void AgentCore::Impl::OnEvent(const LaunchFailed& event) {
  Emit(Say{Severity::kError, absl::StrCat("the processes could not be started: ", event.text)});
  std::vector<ProcessKey> ids = processes_.Unconfirmed(event.round);
  std::erase_if(ids, [&](const ProcessKey& id) {
    return std::find(event.slots.begin(), event.slots.end(), id.slot) == event.slots.end();
  });
  FailLaunch(ids, event);
}

void AgentCore::Impl::FailLaunch(const std::vector<ProcessKey>& ids, const LaunchFailed& failure) {
  ProcessEnd end;
  end.exit.code = failure.exit_code;
  end.launch_error = EscapeControl(failure.text);
  end.launch_reason = failure.reason;
  end.launch_remedy = failure.remedy;
  for (const ProcessKey& id : ids) ReportEnd(id, end, absl::ZeroDuration());
}

void AgentCore::Impl::OnEvent(const ProgressMade& event) {
  if (processes_.IsRunning(event.key)) progress_.Made(event.key, event.step, now_);
}

void AgentCore::Impl::OnEvent(const OutputMatched& event) {
  if (processes_.IsRunning(event.key)) progress_.Matched(event, now_);
}

void AgentCore::Impl::OnEvent(const ActivitySeen& event) {
  if (processes_.IsRunning(event.key)) progress_.Saw(event);
}

void AgentCore::Impl::OnEvent(const ProcessHalted& event) {
  if (event.is_over) {
    halted_.erase(event.key);
  } else if (processes_.IsRunning(event.key)) {
    halted_[event.key] = event;
  }
}

void AgentCore::Impl::OnEvent(const StacksGathered& event) {
  if (stacks_.OnGathered()) {
    v1::AgentMessage message;
    message.mutable_stack_traces()->set_query(event.query);
    for (const v1::SlotStack& stack : event.stacks) *message.mutable_stack_traces()->add_stacks() = stack;
    SendToScheduler(std::move(message));
  }
  stacks_.GatherNext(effects_);
}

void AgentCore::Impl::OnEvent(const LogRead& event) {
  if (event.asked_on != connector_.connect_seq() || !connector_.IsOpen()) return;
  v1::AgentMessage message;
  message.mutable_log_lines()->set_query(event.query);
  *message.mutable_log_lines()->mutable_log() = event.log;
  SendToScheduler(std::move(message));
}

void AgentCore::Impl::OnEvent(const CommandsReported& event) { reporter_.AddCommands(event.commands, now_); }

void AgentCore::Impl::OnEvent(const Tick&) {}

void AgentCore::Impl::RunTimers() {
  if (connector_.IsDialTimedOut(now_)) {
    peers_.OnStreamClosed(now_);
    is_shut_out_ = false;
    Emit(HangUp{});
    Redial(kNoAnswer);
  }
  if (replacement_.IsTimedOut(now_)) replacement_.GiveUp(kNoAnswer, absl::ZeroDuration(), now_, effects_);
  if (connector_.IsPatienceUsedUp(now_)) {
    const absl::Duration apart = connector_.ApartFor(now_);
    const std::string& reason = connector_.last_reason();
    if (!membership_.IsWelcomed()) {
      return EndHopeless(kExitUnreachable, SayUnreachable(options_.scheduler, reason, apart, options_.retry_num));
    }
    if (is_shut_out_) {
      return EndHopeless(kExitSecurity, SayShutOut(options_.scheduler, reason, apart, options_.retry_num));
    }
    return EndHopeless(kExitSchedulerLost, SaySchedulerLost(options_.scheduler, reason, apart, options_.retry_num));
  }
  if (connector_.IsDialDue(now_)) {
    replacement_.OnDial();
    SendJoin(connector_.StartDial(now_), false);
  }
  if (replacement_.IsDue(now_)) {
    const uint64_t seq = connector_.NextConnectSeq();
    replacement_.Start(seq, now_);
    SendJoin(seq, true);
  }
}

void AgentCore::Impl::SendJoin(uint64_t connect_seq, bool is_replacement) {
  Emit(Dial{connect_seq, is_replacement});
  v1::AgentMessage message;
  v1::Join& join = *message.mutable_join();
  join.set_protocol_version(kProtocolVersion);
  join.set_job_id(options_.job_id);
  join.set_node_id(membership_.node_id);
  join.set_is_assigned_id(options_.node_id.empty() && !membership_.node_id.empty());
  join.set_incarnation(options_.incarnation);
  join.set_connect_seq(connect_seq);
  join.set_cluster_id(membership_.cluster_id);
  join.set_run(membership_.run);
  *join.mutable_settings() = options_.settings;
  *join.mutable_node() = options_.node;
  join.set_term(membership_.term);
  join.set_round(desired_.round());
  join.set_events_through(reporter_.AcknowledgedThrough());
  Emit(Send{connect_seq, std::move(message)});
}

void AgentCore::Impl::Redial(const std::string& reason) {
  replacement_.Drop();
  connector_.OnFailure(reason, now_, effects_);
}

void AgentCore::Impl::SendDueReport() {
  if (!connector_.IsOpen() || (!reporter_.IsDue(now_) && !wants_word_)) return;
  if (heartbeat_path_.CountDue(now_, heartbeat_interval_)) {
    replacement_.Want(heartbeat_interval_, Replacement::Purpose::kAnswers, connector_, now_);
  }
  // The fence can't end a process that has survived SIGKILL. Until that is gone, the node reports that no fence is
  // armed.
  const bool is_fenced = fence_.falls_at() && !processes_.HasSurvivors();
  const auto armed_fence_ms = is_fenced ? static_cast<uint32_t>(absl::ToInt64Milliseconds(fence_.counted_on())) : 0;
  // After a report that named stuck processes, one more goes over the stream: a datagram can't say that nothing is
  // stuck now.
  std::string progress = takes_progress_ ? progress_.ForDatagram(now_) : "";
  const bool is_too_long = takes_progress_ && progress.empty() && progress_.HasActivityNews();
  const bool has_news = !reporter_.IsAllAcknowledged() || (progress.empty() && progress_.HasAny()) || is_too_long ||
                        processes_.HasSurvivors() || has_reported_stuck_ || !halted_.empty() || has_reported_halted_;
  // The loss of a datagram shows only when the next heartbeat is due. If the fence could fall before that one is
  // answered, this heartbeat must go over the stream.
  const bool is_asked = std::exchange(wants_word_, false);
  const bool must_arrive =
      is_asked || (fence_.falls_at() && *fence_.falls_at() < now_ + heartbeat_interval_ + kRepairTime);
  const HeartbeatPath::Way way = has_news || must_arrive ? HeartbeatPath::Way::kStream : heartbeat_path_.Choose(now_);
  if (heartbeat_path_.is_dead() && !std::exchange(was_dead_path_reported_, true)) {
    Emit(SayNoDatagrams(options_.scheduler));
  }
  if (way != HeartbeatPath::Way::kDatagram) {
    v1::AgentMessage message;
    *message.mutable_report() = reporter_.MakeReport(now_);
    progress_.Fill(*message.mutable_report(), now_);
    progress_.FillActivity(*message.mutable_report(), now_);
    FillStuck(processes_, now_, *message.mutable_report());
    has_reported_stuck_ = message.report().stuck_size() > 0;
    FillHalted(halted_, now_, *message.mutable_report());
    has_reported_halted_ = message.report().halted_size() > 0;
    message.mutable_report()->set_armed_fence_ms(armed_fence_ms);
    heartbeat_path_.StreamSent(message.report().heartbeat_seq(), now_);
    SendToScheduler(std::move(message));
  }
  // The datagram has the higher number, so it goes last: the scheduler ignores a datagram that comes after a
  // higher number.
  if (way != HeartbeatPath::Way::kStream) {
    SendHeartbeat heartbeat{connector_.connect_seq(), reporter_.CountHeartbeat(now_), armed_fence_ms,
                            std::move(progress)};
    heartbeat_path_.DatagramSent(heartbeat.heartbeat_seq);
    Emit(std::move(heartbeat));
  }
  progress_.ActivitySent();
}

void AgentCore::Impl::SendToScheduler(v1::AgentMessage message) {
  Emit(Send{connector_.connect_seq(), std::move(message)});
}

MonotonicTime AgentCore::Impl::NextDeadline() const {
  if (is_finished_) return MonotonicTime::Never();
  MonotonicTime next = std::min({connector_.NextDeadline(), replacement_.NextDeadline(), reporter_.NextDeadline()});
  next = std::min({next, peers_.NextDeadline(), stopping_.StopDeadline()});
  if (!ending_) next = std::min(next, stopping_.HeldUpDeadline());
  if (ending_ && ending_->quiet_since) next = std::min(next, ending_->give_up_at);
  return next;
}

void AgentCore::Impl::CheckInvariants() const {
  processes_.CheckInvariants();
  stopping_.CheckInvariants();
  stacks_.CheckInvariants();
  progress_.CheckInvariants(processes_);
  reporter_.CheckInvariants();
  fence_.CheckInvariants();
  MUSTER_CHECK(!connector_.IsOpen() || membership_.IsWelcomed(), "an open stream was welcomed");
  MUSTER_CHECK(!replacement_.IsDialed() || connector_.IsOpen(), "only an open stream is replaced");
  MUSTER_CHECK(!membership_.IsWelcomed() || !membership_.cluster_id.empty(), "a run belongs to a cluster");
  MUSTER_CHECK(!is_keeper_dead_ || !processes_.IsAnyRunning(), "nothing runs without the keeper");
  MUSTER_CHECK(processes_.Running().empty() || processes_.Running().front().round <= desired_.round(),
               "only rounds that the scheduler has closed are running");
  MUSTER_CHECK(!is_finished_ || !processes_.IsAnyLeft() || stopping_.was_killed() || processes_.IsAllStuck(),
               "nothing that can be killed outlives the agent");
}

AgentCore::AgentCore(AgentOptions options) : impl_(std::make_unique<Impl>(std::move(options))) {}
AgentCore::~AgentCore() = default;
Effects AgentCore::Apply(const Event& event, MonotonicTime now) { return impl_->Apply(event, now); }
MonotonicTime AgentCore::NextDeadline() const { return impl_->NextDeadline(); }
absl::Duration AgentCore::heartbeat_interval() const { return impl_->heartbeat_interval(); }
bool AgentCore::IsFinished() const { return impl_->IsFinished(); }
void AgentCore::CheckInvariants() const { impl_->CheckInvariants(); }

}  // namespace muster::agent
