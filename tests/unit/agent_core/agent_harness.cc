#include "tests/unit/agent_core/agent_harness.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/strip.h"
#include "common/base/check.h"

namespace muster::agent {
namespace {

std::string EventText(const v1::NodeEvent& event) {
  std::string text = absl::StrCat("#", event.number(), " ");
  if (event.has_started()) {
    const v1::ProcessStarted& s = event.started();
    absl::StrAppend(&text, "started ", s.slot(), "/", s.round(), "/", s.attempt());
  } else if (event.has_ended()) {
    const v1::ProcessEnded& e = event.ended();
    absl::StrAppend(&text, "ended ", e.slot(), "/", e.round(), "/", e.attempt(), " code=", e.exit_code(),
                    " signal=", e.signal(), e.was_stopped() ? " stopped" : "", e.has_remains() ? " with remains" : "",
                    e.launch_error().empty() ? "" : absl::StrCat(" launch_error=", e.launch_error()));
  } else {
    if (event.has_quit()) return absl::StrCat(text, "quit round ", event.quit().round());
    if (event.has_checked()) return absl::StrCat(text, "checked after round ", event.checked().round());
    absl::StrAppend(&text, event.leaving().is_quiet() ? "leaving" : "leaving soon",
                    " signal=", event.leaving().signal(), " (", event.leaving().reason(), ")");
  }
  if (event.age_ms() != 0) absl::StrAppend(&text, " age=", event.age_ms(), "ms");
  return text;
}

std::string ProgressText(const v1::Report& report) {
  std::vector<std::string> parts;
  for (const v1::SlotProgress& p : report.progress()) {
    parts.push_back(absl::StrCat(p.slot(), "/", p.attempt(), p.has_step() ? absl::StrCat(" step ", p.step()) : "",
                                 " still ", p.since_progress_ms(), "ms"));
  }
  return absl::StrCat("progress of round ", report.progress_round(), ": ", absl::StrJoin(parts, ", "));
}

v1::Report Parsed(const std::string& bytes) {
  v1::Report report;
  MUSTER_CHECK(report.ParseFromString(bytes), "the core sends a report");
  return report;
}

std::string MessageText(const v1::AgentMessage& message) {
  if (message.has_join()) {
    const v1::Join& join = message.join();
    return absl::StrCat("join job=", join.job_id(), " node=", join.node_id(), " cluster=", join.cluster_id(),
                        " run=", join.run(), " term=", join.term(),
                        join.round() == 0 ? "" : absl::StrCat(" round=", join.round()),
                        join.events_through() == 0 ? "" : absl::StrCat(" acknowledged=", join.events_through()),
                        " seq=", join.connect_seq(), join.node().is_fence_guarded() ? " guarded" : "");
  }
  if (message.has_probe_answer()) return absl::StrCat("probe answer ", message.probe_answer().probe());
  if (message.has_log_lines()) {
    const v1::LogLines& lines = message.log_lines();
    return absl::StrCat("log ", lines.query(), ": ", absl::StripSuffix(lines.log().text(), "\n"));
  }
  if (message.has_stack_traces()) {
    std::string text = absl::StrCat("stacks ", message.stack_traces().query(), ":");
    for (const v1::SlotStack& s : message.stack_traces().stacks()) absl::StrAppend(&text, " ", s.slot(), " ", s.text());
    return text;
  }
  const v1::Report& report = message.report();
  std::vector<std::string> parts = {absl::StrCat("report ", report.heartbeat_seq())};
  for (const v1::NodeEvent& event : report.events()) parts.push_back(EventText(event));
  if (report.progress_size() > 0) parts.push_back(ProgressText(report));
  for (const v1::StuckProcess& s : report.stuck()) {
    parts.push_back(
        absl::StrCat("stuck ", s.slot(), " ", s.pid(), " (", s.name(), " ", s.state(), ") ", s.stuck_ms(), "ms"));
  }
  if (report.is_settled()) parts.push_back("settled");
  return absl::StrJoin(parts, ", ");
}

std::string Milliseconds(MonotonicTime time) { return absl::StrCat(time.nanoseconds() / 1'000'000, "ms"); }

struct Printer {
  std::string operator()(const Dial& e) const {
    return absl::StrCat("dial ", e.connect_seq, e.is_replacement ? " as a replacement" : "");
  }
  std::string operator()(const Send& e) const {
    return absl::StrCat("send ", e.connect_seq, ": ", MessageText(e.message));
  }
  std::string operator()(const SendHeartbeat& e) const {
    return absl::StrCat("datagram ", e.connect_seq, ": ", e.heartbeat_seq,
                        e.armed_fence_ms == 0 ? "" : absl::StrCat(", armed with ", e.armed_fence_ms, "ms"),
                        e.progress.empty() ? "" : absl::StrCat(", ", ProgressText(Parsed(e.progress))));
  }
  std::string operator()(const HangUp& e) const {
    return e.connect_seq == 0 ? "hang up" : absl::StrCat("hang up ", e.connect_seq);
  }
  std::string operator()(const FetchPeers& e) const {
    return absl::StrCat("fetch peers of run ", e.run, " round ", e.round);
  }
  std::string operator()(const Launch& e) const {
    return absl::StrCat("launch round ", e.desired.round(), " slots ", absl::StrJoin(e.slots, ","),
                        e.peer_list == nullptr ? " without peers" : "");
  }
  std::string operator()(const StopProcesses& e) const {
    return e.interrupt_time == absl::ZeroDuration()
               ? "stop"
               : absl::StrCat("interrupt, stop after ", absl::FormatDuration(e.interrupt_time));
  }
  std::string operator()(const KillProcesses&) const { return "kill"; }
  std::string operator()(const PrintAssignment& e) const { return absl::StrCat("print round ", e.desired.round()); }
  std::string operator()(const SetFence& e) const {
    return e.is_armed ? absl::StrCat("fence at ", Milliseconds(e.deadline)) : "no fence";
  }
  std::string operator()(const SetLastReport& e) const {
    return absl::StrCat("last report for ", e.last_report.node_id(), " run ", e.last_report.run());
  }
  std::string operator()(const CheckNode&) const { return "check node"; }
  std::string operator()(const ReadLog& e) const {
    return absl::StrCat("read_log ", e.query, " slot ", e.slot, " lines ", e.lines, " after ", e.after);
  }
  std::string operator()(const GatherStacks& e) const {
    std::string text = absl::StrCat("gather stacks ", e.query, ":");
    for (const GatherStacks::Process& p : e.processes) absl::StrAppend(&text, " ", p.slot, "=", p.pid);
    return text;
  }
  std::string operator()(const Say& e) const {
    const char* how = e.is_progress                      ? "progress: "
                      : e.severity == Severity::kError   ? "error: "
                      : e.severity == Severity::kWarning ? "warn: "
                                                         : "say: ";
    return absl::StrCat(how, e.text);
  }
  std::string operator()(const Finish& e) const { return absl::StrCat("finish ", e.exit_code); }
};

}  // namespace

std::string ToText(const Effects& effects) {
  std::string text;
  for (const Effect& effect : effects) absl::StrAppend(&text, std::visit(Printer{}, effect), "\n");
  return text;
}

AgentOptions SmallOptions(int slots) {
  AgentOptions options;
  options.job_id = "j";
  options.incarnation = 42;
  options.retry_num = 20;  // the agent tries for 60 s
  options.stop_timeout = options.fence_stop_timeout = absl::Seconds(10);
  options.scheduler = "s:8118";
  for (int i = 0; i < slots; ++i) options.node.add_slots();
  return options;
}

std::string AgentHarness::Do(const Event& event) {
  last_ = core_.Apply(event, now_);
  core_.CheckInvariants();
  for (const Effect& effect : last_) {
    if (const auto* dial = std::get_if<Dial>(&effect)) connect_seq_ = dial->connect_seq;
    if (const auto* send = std::get_if<agent::Send>(&effect); send != nullptr && send->message.has_report()) {
      heartbeat_seq_ = send->message.report().heartbeat_seq();
    }
  }
  return ToText(last_);
}

std::string AgentHarness::Pass(absl::Duration duration) {
  const MonotonicTime end = now_ + duration;
  std::string text;
  for (int steps = 0; core_.NextDeadline() <= end; ++steps) {
    if (steps == 10'000) return absl::StrCat(text, "the deadline does not move\n");
    now_ = std::max(now_, core_.NextDeadline());
    absl::StrAppend(&text, Do(Tick{}));
    if (answers_reports_) AnswerReportsOf(Effects(last_));
  }
  now_ = end;
  return text;
}

void AgentHarness::AnswerReportsOf(const Effects& effects) {
  for (const Effect& effect : effects) {
    const auto* send = std::get_if<Send>(&effect);
    if (send == nullptr || !send->message.has_report()) continue;
    v1::SchedulerMessage message;
    message.mutable_acknowledgement()->set_heartbeat_seq(send->message.report().heartbeat_seq());
    message.mutable_acknowledgement()->set_fence_timeout_ms(static_cast<uint32_t>(absl::ToInt64Milliseconds(fence_)));
    message.set_term(1);
    Do(MessageReceived{send->connect_seq, std::move(message)});
  }
}

std::string AgentHarness::Receive(v1::SchedulerMessage message) {
  if (message.term() == 0) message.set_term(1);
  return Do(MessageReceived{connect_seq_, std::move(message)});
}

std::string AgentHarness::Break(const std::string& reason) { return Do(StreamBroken{connect_seq_, reason}); }

std::string AgentHarness::Welcome(bool is_resumed, uint64_t events_through, absl::Duration fence) {
  return Receive(WelcomeMessage(is_resumed, events_through, fence));
}

std::string AgentHarness::WelcomeWithDatagrams(absl::Duration fence, bool takes_progress) {
  v1::SchedulerMessage message = WelcomeMessage(false, 0, fence);
  message.mutable_welcome()->mutable_datagrams()->set_stream(1);
  message.mutable_welcome()->mutable_datagrams()->set_takes_progress(takes_progress);
  return Receive(std::move(message));
}

v1::SchedulerMessage AgentHarness::WelcomeMessage(bool is_resumed, uint64_t events_through,
                                                  absl::Duration fence) const {
  v1::SchedulerMessage message;
  v1::Welcome& welcome = *message.mutable_welcome();
  welcome.set_cluster_id("c");
  welcome.set_job_id("j");
  welcome.set_run(3);
  welcome.set_node_id("n1");
  welcome.set_events_through(events_through);
  welcome.set_heartbeat_interval_ms(2000);
  welcome.set_fence_timeout_ms(static_cast<uint32_t>(absl::ToInt64Milliseconds(fence)));
  welcome.set_is_resumed(is_resumed);
  return message;
}

std::string AgentHarness::Refuse(v1::Refusal::Reason reason, const std::string& text, uint32_t retry_after_ms) {
  v1::SchedulerMessage message;
  message.mutable_refusal()->set_reason(reason);
  message.mutable_refusal()->set_text(text);
  message.mutable_refusal()->set_retry_after_ms(retry_after_ms);
  return Receive(std::move(message));
}

std::string AgentHarness::Acknowledge(uint64_t events_through) {
  v1::SchedulerMessage message;
  message.mutable_acknowledgement()->set_heartbeat_seq(heartbeat_seq_);
  message.mutable_acknowledgement()->set_events_through(events_through);
  message.mutable_acknowledgement()->set_fence_timeout_ms(static_cast<uint32_t>(absl::ToInt64Milliseconds(fence_)));
  return Receive(std::move(message));
}

std::string AgentHarness::AnswerDatagram(uint64_t heartbeat_seq, absl::Duration fence) {
  v1::Acknowledgement acknowledgement;
  acknowledgement.set_heartbeat_seq(heartbeat_seq);
  acknowledgement.set_fence_timeout_ms(static_cast<uint32_t>(absl::ToInt64Milliseconds(fence)));
  return Do(HeartbeatAnswered{connect_seq_, acknowledgement});
}

std::string AgentHarness::Desire(const v1::DesiredState& desired) {
  v1::SchedulerMessage message;
  *message.mutable_desired() = desired;
  return Receive(std::move(message));
}

std::string AgentHarness::Peers(uint32_t round, const absl::Status& status) {
  return Do(PeersFetched{round, status, status.ok() ? std::make_shared<const std::string>("peers") : nullptr});
}

std::string AgentHarness::Started(uint32_t slot, uint32_t round, uint32_t attempt) {
  return Do(ProcessHasStarted{{slot, round, attempt}, 100 + slot});
}

std::string AgentHarness::Ended(uint32_t slot, int exit_code, int signal, bool was_stopped, uint32_t round) {
  ProcessHasEnded event;
  event.key = {slot, round, 0};
  event.end.exit = {exit_code, signal};
  event.end.was_stopped = was_stopped;
  return Do(event);
}

std::string AgentHarness::Died(uint32_t slot, int exit_code, int signal, bool was_stopped) {
  ProcessHasEnded event;
  event.key = {slot, 1, 0};
  event.end.exit = {exit_code, signal};
  event.end.was_stopped = was_stopped;
  event.leaves_some = true;
  return Do(event);
}

void AgentHarness::RunRound(uint32_t slots, absl::Duration fence) {
  fence_ = fence;
  Begin();
  Welcome(false, 0, fence);
  Desire(Running(slots));
  Peers(1);
  for (uint32_t slot = 0; slot < slots; ++slot) Started(slot);
  Acknowledge(slots);
}

v1::DesiredState InPhase(v1::RunPhase phase, uint32_t round) {
  v1::DesiredState desired;
  desired.set_run(3);
  desired.set_phase(phase);
  desired.set_round(round);
  return desired;
}

v1::DesiredState Running(uint32_t slots, uint32_t round, uint32_t attempt) {
  v1::DesiredState desired = InPhase(v1::RUN_PHASE_RUNNING, round);
  desired.mutable_assignment()->set_worker_num(slots);
  desired.mutable_assignment()->set_machine_num(1);
  desired.mutable_assignment()->set_role(v1::ROLE_WORKER);
  for (uint32_t slot = 0; slot < slots; ++slot) {
    v1::SlotAssignment& assignment = *desired.mutable_assignment()->add_slots();
    assignment.set_rank(slot);
    assignment.set_attempt(attempt);
    assignment.set_should_run(true);
  }
  return desired;
}

v1::DesiredState Succeeded(uint32_t round) {
  v1::DesiredState desired = InPhase(v1::RUN_PHASE_SUCCEEDED, round);
  desired.mutable_outcome()->set_succeeded(true);
  return desired;
}

v1::DesiredState Failed(v1::Cause::Kind kind, uint32_t round) {
  v1::DesiredState desired = InPhase(v1::RUN_PHASE_FAILED, round);
  desired.mutable_outcome()->mutable_cause()->set_kind(kind);
  desired.mutable_outcome()->mutable_cause()->set_text("the cause");
  desired.mutable_outcome()->mutable_cause()->set_remedy("the remedy");
  return desired;
}

}  // namespace muster::agent
