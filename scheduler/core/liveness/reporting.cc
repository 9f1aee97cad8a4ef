// Handles the reports of joined agents, and broken streams.
//
//   what comes                          what happens
//   a heartbeat                         the lease begins again; a datagram older than the latest heartbeat is ignored
//   events                              they are taken in the order of their numbers, each once; events that were taken
//                                       before are only acknowledged
//   a process ended with exit code 0    its slot is done; the run succeeds once all slots are done
//   a process failed                    Disturb, or with scope "worker" RestartAlone
//   processes stopped without an order  Disturb: the node's fence ended them, or an order that was lost in a crash
//   the agent leaves                    Disturb or Fail at once; the node goes when its processes have ended
//   the stream breaks                   the node is disconnected, and its grace begins
//   the keeper's last report            its processes are confirmed dead; the node is lost without a grace
#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "scheduler/core/facts/progress.h"
#include "scheduler/core/liveness/liveness.h"
#include "scheduler/core/places/waiting.h"

namespace muster::scheduler {
namespace {

constexpr uint32_t kMaxHaltsAnnounced = 100;  // in a round: a process may be stopped again and again

}  // namespace

void Liveness::On(const ReportReceived& event) {
  const auto attached = context_.streams.find(event.stream);
  if (attached == context_.streams.end() || attached->second.is_challenger) return;
  Run* const run = attached->second.run;
  Node* const node = attached->second.node;
  node->is_settled = event.report.is_settled() && run->HasEnded();
  // If a newer heartbeat came as a datagram before this report, that one says whether the fence is armed, and has the
  // newer progress.
  const bool is_newest = event.report.heartbeat_seq() >= attached->second.heartbeat_seq;
  if (is_newest) {
    attached->second.heartbeat_seq = event.report.heartbeat_seq();
    Hear(*run, *node, event.report.armed_fence_ms());
  }
  if (event.report.events_size() > 0) {
    TakeEvents(*run, *node, event.report);
    // The events may have removed the node and its stream: the node left, or its run went on without it.
    if (!context_.streams.contains(event.stream)) return;
  }
  if (is_newest) TakeProgress(*run, *node, event.report);
  TakeStuck(*run, *node, event.report);
  TakeHalted(*run, *node, event.report);
  Acknowledge(*run, *node, event.report.heartbeat_seq());
  if (node->is_settled) lifecycle_.CheckSettled(*run);
}

void Liveness::On(const HeartbeatReceived& event) {
  const auto attached = context_.streams.find(event.stream);
  if (attached == context_.streams.end() || attached->second.is_challenger) return;
  if (event.heartbeat_seq <= attached->second.heartbeat_seq) return;
  attached->second.heartbeat_seq = event.heartbeat_seq;
  Run& run = *attached->second.run;
  Node& node = *attached->second.node;
  Hear(run, node, event.armed_fence_ms);
  TakeProgress(run, node, event.progress);
  Acknowledge(run, node, event.heartbeat_seq);
}

// Notes that the node has sent a message: extends its lease, and records the fence with which it is armed.
void Liveness::Hear(Run& run, Node& node, uint32_t armed_fence_ms) {
  if (node.has_reported) {
    context_.measures.NoteHeartbeat(context_.now.monotonic - node.last_seen, context_.HeartbeatInterval());
  }
  node.last_seen = context_.now.monotonic;
  node.has_reported = true;
  node.had_extra_lease = false;
  node.lease_end = context_.now.monotonic + context_.options.lease;
  context_.Schedule(node);
  lifecycle_.NoteFence(run, node, absl::Milliseconds(armed_fence_ms));
}

void Liveness::Acknowledge(Run& run, Node& node, uint64_t heartbeat_seq) {
  Message message = context_.NewMessage();
  v1::Acknowledgement& ack = *message->mutable_acknowledgement();
  ack.set_heartbeat_seq(heartbeat_seq);
  ack.set_events_through(node.record().events_through);
  ack.set_fence_timeout_ms(static_cast<uint32_t>(absl::ToInt64Milliseconds(context_.FenceTimeout(run))));
  ack.set_heartbeat_interval_ms(static_cast<uint32_t>(absl::ToInt64Milliseconds(context_.HeartbeatInterval())));
  if (IsWaiting(run)) *ack.mutable_waiting() = WaitStatusOf(context_.state, run, context_.now.monotonic);
  context_.SendTo(node.stream, std::move(message));
}

// Takes the new events, in the order of their numbers. Events that were taken before are only acknowledged again.
void Liveness::TakeEvents(Run& run, Node& node, const v1::Report& report) {
  const bool was_recovering = run.record().phase == v1::RUN_PHASE_RECOVERING;
  NewEvents taken = SelectNew(run, node, report);
  if (taken.record.node_reported().events().empty()) return;
  context_.Write(std::move(taken.record));
  node.check_passed = std::max(node.check_passed, std::min(taken.checked_round, run.record().round));
  run.NoteReadiness(node);
  ActOnFailures(run, node, taken);
  if (taken.leaving != nullptr) {
    const v1::NodeLeaving& leaving = taken.leaving->leaving();
    if (leaving.is_quiet()) Acknowledge(run, node, report.heartbeat_seq());
    HearOfLeaving(run, node, leaving, context_.now.monotonic - absl::Milliseconds(taken.leaving->age_ms()));
    if (leaving.is_quiet()) return;  // HearOfLeaving has removed the node, or marked it as lost
  }
  lifecycle_.CheckSuccess(run);
  // If the round was given up just now, check all nodes: a node that was lost without harm while the round ran counts
  // as missing from now on.
  was_recovering ? lifecycle_.TryNextRoundAfter(run, node) : lifecycle_.TryNextRound(run);
  if (run.record().phase == v1::RUN_PHASE_STOPPING) lifecycle_.FixCauseIfKnown(run);
}

Liveness::NewEvents Liveness::SelectNew(const Run& run, const Node& node, const v1::Report& report) const {
  NewEvents selected;
  selected.record = context_.NewRecord();
  v1::NodeReported& reported = *selected.record.mutable_node_reported();
  SetHead(reported, run, node);
  reported.set_incarnation(node.record().incarnation);
  uint64_t through = std::max(node.record().events_through, node.acknowledged_elsewhere);
  for (const v1::NodeEvent& event : report.events()) {
    if (event.number() != through + 1) continue;
    through = event.number();
    v1::NodeEvent& taken = *reported.add_events();
    if (event.kind_case() == v1::NodeEvent::KIND_NOT_SET) {
      taken.set_number(event.number());  // a kind of a newer agent: its content was not checked, so don't store it
    } else {
      taken = event;
    }
    if (event.has_leaving()) selected.leaving = &event;
    if (event.has_checked()) selected.checked_round = event.checked().round();
    if (event.has_quit() && event.quit().round() == run.record().round && run.record().phase == v1::RUN_PHASE_RUNNING) {
      selected.is_unasked_stop = true;  // by its fence, or by an order that was not durable when the scheduler crashed
    }
    if (event.has_ended()) JudgeEnd(run, node, event, selected);
  }
  return selected;
}

void Liveness::JudgeEnd(const Run& run, const Node& node, const v1::NodeEvent& event, NewEvents& selected) const {
  const v1::ProcessEnded& ended = event.ended();
  if (ended.round() != run.record().round || ended.slot() >= node.record().slots.size()) return;
  const SlotState& slot = node.record().slots[ended.slot()];
  if (slot.phase == SlotState::Phase::kIdle || slot.HasEnded() || ended.attempt() != slot.attempt) return;
  if (ended.was_stopped()) {
    selected.is_unasked_stop |=
        run.record().phase == v1::RUN_PHASE_RUNNING && !node.record().is_leaving && selected.leaving == nullptr;
  } else if (ended.exit_code() != 0 || ended.signal() != 0) {
    selected.failures.push_back(
        CandidateFrom(run, node, slot.rank, ended, context_.now.monotonic - absl::Milliseconds(event.age_ms())));
  }
}

void Liveness::ActOnFailures(Run& run, Node& node, NewEvents& taken) {
  for (CauseCandidate& failure : taken.failures) {
    if (run.RestartsAlone() && run.record().phase == v1::RUN_PHASE_RUNNING &&
        !lifecycle_.IsDrainedFor(run, failure.cause)) {
      lifecycle_.RestartAlone(run, node, std::move(failure));
    } else {
      lifecycle_.Disturb(run, std::move(failure));
    }
  }
  if (taken.is_unasked_stop && run.record().phase == v1::RUN_PHASE_RUNNING) {
    const std::string why =
        "its processes were stopped, but the scheduler knows of no order to stop them: the node's fence ended them "
        "(--fence_timeout), or the order came shortly before the scheduler's restart";
    lifecycle_.Disturb(run, CandidateFrom(node, v1::Cause::NODE_LOST, why, 0, context_.now.monotonic));
  }
}

void Liveness::TakeProgress(Run& run, Node& node, const v1::Report& report) {
  if (run.record().phase != v1::RUN_PHASE_RUNNING || report.progress_round() != run.record().round) return;
  const absl::Duration timeout = absl::Milliseconds(run.record().settings.progress_timeout_ms());
  bool stands_still = false;
  node.unseen_lines = report.unseen_lines();
  for (const v1::SlotActivity& slot : report.activity()) {
    if (slot.slot() >= node.record().slots.size()) continue;
    node.activity.resize(node.record().slots.size());
    ProcessActivity& activity = node.activity[slot.slot()];
    activity = {};
    activity.round = run.record().round;
    activity.attempt = slot.attempt();
    activity.state = slot.state();
    if (slot.has_since_output_ms()) {
      activity.last_output = context_.now.monotonic - absl::Milliseconds(slot.since_output_ms());
    }
    if (slot.has_cpu_percent()) activity.cpu_percent = slot.cpu_percent();
  }
  for (const v1::SlotProgress& slot : report.progress()) {
    if (slot.slot() >= node.record().slots.size()) continue;
    node.progress.resize(node.record().slots.size());
    ProcessProgress& progress = node.progress[slot.slot()];
    const absl::Duration still = absl::Milliseconds(slot.since_progress_ms());
    ProcessProgress news{.round = run.record().round,
                         .attempt = slot.attempt(),
                         .step = {},
                         .is_of_output = slot.has_output_step(),
                         .changed = context_.now.monotonic - still,
                         .reported_at = context_.now.monotonic};
    if (slot.has_step()) news.step = slot.step();
    if (slot.has_output_step()) news.step = slot.output_step();
    news.steps_per_second = StepsPerSecond(progress, news);
    progress = news;
    if (ProgressOf(run, node, slot.slot()) == nullptr) continue;
    run.first_progress_deadline = MonotonicTime::Never();
    if (progress.step && !progress.is_of_output) {
      run.highest_step = std::max(run.highest_step.value_or(0), *progress.step);
    }
    // The process that hangs stands still first, and the processes that wait for it follow. Wait half a
    // heartbeat more, so that most agents have reported them.
    stands_still |= timeout > absl::ZeroDuration() && still >= timeout + context_.HeartbeatInterval() / 2;
  }
  if (stands_still && !run.stall) return stacks_.LookIntoStall(run, StackInquiry::Stall::kBetweenSteps);
  // A stall that was only reported stays in run.stall until nothing stands still any more.
  if (!run.stall || context_.now.monotonic - run.stall_looked < context_.HeartbeatInterval()) return;
  run.stall_looked = context_.now.monotonic;
  if (StandingStill(run, context_.now.monotonic, context_.HeartbeatInterval()).empty() && !IsUnwatched(run)) {
    run.stall.reset();
  }
}

void Liveness::TakeStuck(Run& run, Node& node, const v1::Report& report) {
  if (node.stuck.empty() != report.stuck().empty()) run.waiting_cache.is_valid = false;
  node.stuck.clear();
  for (const v1::StuckProcess& stuck : report.stuck()) {
    node.stuck.push_back(
        {stuck.pid(), stuck.name(), stuck.state(), context_.now.monotonic - absl::Milliseconds(stuck.stuck_ms())});
  }
}

// Announces each halted process once. It ends nothing: that is for --progress_timeout.
void Liveness::TakeHalted(Run& run, Node& node, const v1::Report& report) {
  const std::vector<HaltedOnNode> before = std::exchange(node.halted, {});
  if (run.record().phase != v1::RUN_PHASE_RUNNING) return;
  for (const v1::HaltedProcess& halted : report.halted()) {
    if (halted.slot() >= node.record().slots.size()) continue;
    node.halted.push_back({halted.slot(), halted.pid(), halted.name(), halted.state(), halted.waits_in(),
                           context_.now.monotonic - absl::Milliseconds(halted.halted_ms())});
    const bool is_new = std::none_of(before.begin(), before.end(), [&](const HaltedOnNode& one) {
      return one.pid == halted.pid() && one.state == halted.state();
    });
    const bool may_announce = is_new && run.halts_announced < kMaxHaltsAnnounced;
    run.halts_announced += may_announce ? 1 : 0;
    if (may_announce)
      context_.Warn(run, "process_halted", DescribeHalted(node, node.halted.back(), context_.now.monotonic));
  }
}

// Handles a node's announcement that it leaves. The other nodes stop at once if they need the node. The node itself
// goes once its processes have ended (`is_quiet`).
void Liveness::HearOfLeaving(Run& run, Node& node, const v1::NodeLeaving& leaving, MonotonicTime when) {
  std::string why = leaving.reason();
  if (why.empty()) why = leaving.signal() == 0 ? "its agent ended" : "it received " + SignalName(leaving.signal());
  CauseCandidate candidate = CandidateFrom(node, v1::Cause::NODE_LEFT, why, leaving.signal(), when);
  // It has failed its node check: its spares on the same machine would fail, too.
  const bool has_failed_check = leaving.signal() == 0 && node.IsBeingChecked(run.record().round);
  if (has_failed_check) run.faulty_machines.insert(node.record().info.machine_id());
  const bool held_ranks = !node.record().is_spare && run.record().round > 0;
  if (lifecycle_.GoesOnWithout(run, node)) {
    if (leaving.is_quiet())
      return lifecycle_.MissNode(run, node, v1::NodeRemoved::LEFT, why, true, std::move(candidate));
    return node.IsAllDone() ? void() : lifecycle_.Disturb(run, std::move(candidate));
  }
  if (leaving.is_quiet()) {
    const StreamId stream = node.stream;
    lifecycle_.RemoveNode(run, node, v1::NodeRemoved::LEFT, why, true);
    context_.CloseStreamOf(stream);
  }
  if (held_ranks && (run.record().phase == v1::RUN_PHASE_RUNNING || run.record().phase == v1::RUN_PHASE_STOPPING)) {
    lifecycle_.Fail(run, std::move(candidate));
  }
  lifecycle_.CheckSettled(run);
}

void Liveness::On(const ProbeAnswered& event) {
  const auto attached = context_.streams.find(event.stream);
  if (attached == context_.streams.end() || attached->second.is_challenger) return;
  const auto [run, node, is_challenger, heartbeat_seq] = attached->second;
  if (node->challenger == nullptr || node->challenger->probe != event.probe) return;
  node->last_seen = context_.now.monotonic;
  membership_.ResolveChallenge(*run, *node, true);
}

void Liveness::On(const StreamClosed& event) {
  const auto it = context_.streams.find(event.stream);
  if (it == context_.streams.end()) return;
  const auto [run, node, is_challenger, heartbeat_seq] = it->second;
  context_.streams.erase(it);
  if (is_challenger) {
    node->challenger.reset();
    context_.Schedule(*node);
    return;
  }
  places_.Detach(*run, *node);
  run->waiting_cache.is_valid = false;
  if (node->challenger != nullptr) return membership_.ResolveChallenge(*run, *node, false);
  if (run->HasEnded()) {
    node->grace_end =
        node->is_settled ? MonotonicTime::Never() : context_.now.monotonic + context_.options.disconnect_grace;
    context_.Schedule(*node);
    return lifecycle_.CheckSettled(*run);
  }
  SetGrace(*node);
  context_.Schedule(*node);
}

// Sets the end of the grace for a node with a connection that has just broken. If a heartbeat is missing, too, the
// node's machine or network has been dead since the last one, so the grace counts from there. The kernel ends a
// connection when its peer has been silent for 8 s (common/net/net.h). Up to 5 s of these are before the machine
// vanishes, because heartbeats by datagram are no traffic of the connection. So as few as 3 s have passed: 1.5
// heartbeats.
void Liveness::SetGrace(Node& node) {
  constexpr absl::Duration kRedial = absl::Seconds(2);  // in which the agent dials again if only the network was dead
  const MonotonicTime now = context_.now.monotonic;
  const MonotonicTime heard = std::max(node.last_seen, context_.late_until);
  node.was_silent = node.has_reported && now - heard >= 1.5 * context_.HeartbeatInterval();
  node.grace_end = now + context_.options.disconnect_grace;
  if (node.was_silent) {
    node.grace_end = std::min(node.grace_end, std::max(now + kRedial, heard + context_.options.disconnect_grace));
  }
}

// The answer comes after the records, so it is sent only once they are durable. A keeper that got it earlier would not
// send the report again if the scheduler crashed.
void Liveness::On(const LastReportReceived& event) {
  TakeLastReport(event);
  if (event.query != 0) context_.effects.push_back(Answer{event.query, absl::OkStatus(), v1::LastReportReply()});
}

void Liveness::TakeLastReport(const LastReportReceived& event) {
  const v1::LastReportRequest& last_report = event.last_report;
  if (last_report.cluster_id() != context_.state.record().cluster_id) return;
  Run* run = context_.state.FindRun(last_report.job_id(), last_report.run());
  if (run == nullptr || run->HasEnded()) return;
  const auto unquit = run->unquit.find(last_report.node_id());
  if (unquit != run->unquit.end() && unquit->second.incarnation == last_report.incarnation()) {
    run->unquit.erase(unquit);
    return lifecycle_.TryNextRound(*run);
  }
  Node* node = run->nodes.Find(last_report.node_id());
  if (node == nullptr) return;
  const std::string& owner = node->record().identity;  // a report without a name proves itself by its incarnation
  if (!owner.empty() && !event.identity.empty() && owner != event.identity) return;
  if (node->record().stale_incarnation != 0 && node->record().stale_incarnation == last_report.incarnation()) {
    lifecycle_.ConfirmDead(*run, *node, "its keeper has ended its processes");
    return lifecycle_.TryNextRound(*run);
  }
  if (node->record().incarnation != last_report.incarnation() || node->record().is_lost) return;
  std::string reason = "its agent ";
  if (last_report.signal() != 0) {
    absl::StrAppend(&reason, "was killed by ", SignalName(last_report.signal()));
  } else if (last_report.exit_code() != 0) {
    absl::StrAppend(&reason, "ended with exit code ", last_report.exit_code());
  } else {
    absl::StrAppend(&reason, "died");
  }
  node->must_quit = false;
  lifecycle_.LoseNode(*run, *node, absl::StrCat(reason, "; the keeper has ended its processes"), true,
                      last_report.signal());
}

}  // namespace muster::scheduler
