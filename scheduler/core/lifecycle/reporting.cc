// What agents report once they are in, and how their silence begins.
//
//   a heartbeat                         the lease begins anew; a newer one by datagram counts, an older is left aside
//   events                              taken in the order of their numbers, each once; others only acknowledged
//   a process ended well                its slot is done; all done is success
//   a process failed                    Disturb, or with scope "worker" RestartAlone
//   processes stopped without an order  Disturb: the fence fell, or an order of before a crash
//   the agent leaves                    Disturb or Fail at once; the node goes when its processes have ended
//   the stream breaks                   disconnected: grace begins
//   a farewell                          its processes are confirmed dead; the node is lost without a grace
#include "absl/strings/str_cat.h"
#include "common/base/limits.h"
#include "scheduler/core/core_impl.h"

namespace muster::scheduler {
void Core::Impl::On(const ReportReceived& event) {
  const auto attached = streams_.find(event.stream);
  if (attached == streams_.end() || attached->second.is_challenger) return;
  Run* const run = attached->second.run;
  Node* const node = attached->second.node;
  node->is_settled = event.report.is_settled() && run->HasEnded();
  // A heartbeat by datagram may have overtaken it, and knew better whether the fence is armed.
  if (event.report.heartbeat_seq() >= attached->second.heartbeat_seq) {
    attached->second.heartbeat_seq = event.report.heartbeat_seq();
    Hear(*run, *node, event.report.armed_fence_ms());
  }
  if (event.report.events_size() > 0) {
    TakeEvents(*run, *node, event.report);
    // They may have removed the node (it left, or its run went on without it), with its stream.
    if (!streams_.contains(event.stream)) return;
  }
  TakeProgress(*run, *node, event.report);
  Acknowledge(*run, *node, event.report.heartbeat_seq());
  if (node->is_settled) CheckSettled(*run);
}

void Core::Impl::On(const HeartbeatReceived& event) {
  const auto attached = streams_.find(event.stream);
  if (attached == streams_.end() || attached->second.is_challenger) return;
  if (event.heartbeat_seq <= attached->second.heartbeat_seq) return;
  attached->second.heartbeat_seq = event.heartbeat_seq;
  Run& run = *attached->second.run;
  Node& node = *attached->second.node;
  Hear(run, node, event.armed_fence_ms);
  Acknowledge(run, node, event.heartbeat_seq);
}

// It lives.
void Core::Impl::Hear(Run& run, Node& node, uint32_t armed_fence_ms) {
  node.last_seen = now_.monotonic;
  node.has_reported = true;
  node.had_extra_lease = false;
  node.lease_end = now_.monotonic + Lease();
  Schedule(node);
  NoteFence(run, node, absl::Milliseconds(armed_fence_ms));
}

// What a node's keeper is armed with must be known also after a crash, and never be taken for shorter than it is: it
// counts only where it is what the node was told last.
void Core::Impl::NoteFence(Run& run, Node& node, absl::Duration armed) {
  if (armed != FenceTimeout(run)) armed = absl::ZeroDuration();
  if (armed == node.record().armed_fence || run.IsOver()) return;
  v1::Record record = NewRecord();
  v1::NodeReported& reported = *record.mutable_node_reported();
  SetHead(reported, run, node);
  reported.set_incarnation(node.record().incarnation);
  reported.set_armed_fence_ms(static_cast<uint32_t>(absl::ToInt64Milliseconds(armed)));
  Write(std::move(record));
}

void Core::Impl::Acknowledge(Run& run, Node& node, uint64_t heartbeat_seq) {
  Message message = NewMessage();
  v1::Acknowledgement& ack = *message->mutable_acknowledgement();
  ack.set_heartbeat_seq(heartbeat_seq);
  ack.set_events_through(node.record().events_through);
  ack.set_fence_timeout_ms(static_cast<uint32_t>(absl::ToInt64Milliseconds(FenceTimeout(run))));
  ack.set_heartbeat_interval_ms(static_cast<uint32_t>(absl::ToInt64Milliseconds(HeartbeatInterval())));
  if (run.record().phase == v1::RUN_PHASE_FORMING || run.record().phase == v1::RUN_PHASE_RECOVERING)
    *ack.mutable_waiting() = Waiting(run);
  SendTo(node.stream, std::move(message));
}

// Takes the events that are new, in order of their numbers; what was taken before is only acknowledged again.
void Core::Impl::TakeEvents(Run& run, Node& node, const v1::Report& report) {
  const bool was_recovering = run.record().phase == v1::RUN_PHASE_RECOVERING;
  v1::Record record = NewRecord();
  v1::NodeReported& reported = *record.mutable_node_reported();
  const v1::NodeEvent* leaving = nullptr;
  bool is_unasked_stop = false;
  std::vector<CauseCandidate> failures;
  uint64_t through = node.record().events_through;
  for (const v1::NodeEvent& event : report.events()) {
    if (event.number() != through + 1) continue;
    through = event.number();
    v1::NodeEvent& taken = *reported.add_events();
    if (event.kind_case() == v1::NodeEvent::KIND_NOT_SET) {
      taken.set_number(event.number());  // a newer agent's; what it holds has no limits here
    } else {
      taken = event;
    }
    if (event.has_leaving()) leaving = &event;
    if (event.has_quit() && event.quit().round() == run.record().round && run.record().phase == v1::RUN_PHASE_RUNNING) {
      is_unasked_stop = true;  // the order was not durable when the scheduler crashed
    }
    if (!event.has_ended()) continue;
    const v1::ProcessEnded& ended = event.ended();
    if (ended.round() != run.record().round || ended.slot() >= node.record().slots.size()) continue;
    const SlotState& slot = node.record().slots[ended.slot()];
    if (slot.phase == SlotState::Phase::kIdle || slot.HasEnded() || ended.attempt() != slot.attempt) continue;
    if (ended.was_stopped()) {
      is_unasked_stop |= run.record().phase == v1::RUN_PHASE_RUNNING && !node.record().is_leaving && leaving == nullptr;
    } else if (ended.exit_code() != 0 || ended.signal() != 0) {
      failures.push_back(CandidateFrom(node, slot.rank, ended, now_.monotonic - absl::Milliseconds(event.age_ms())));
    }
  }
  if (reported.events().empty()) return;
  SetHead(reported, run, node);
  reported.set_incarnation(node.record().incarnation);
  Write(std::move(record));
  NoteReadiness(run, node);

  for (CauseCandidate& failure : failures) {
    if (RestartsAlone(run) && run.record().phase == v1::RUN_PHASE_RUNNING) {
      RestartAlone(run, node, std::move(failure));
    } else {
      Disturb(run, std::move(failure));
    }
  }
  if (is_unasked_stop && run.record().phase == v1::RUN_PHASE_RUNNING) {
    const std::string why =
        "its processes were stopped without an order that is known here: its fence fell (--fence_timeout), or the "
        "order was given shortly before the scheduler was restarted";
    Disturb(run, CandidateFrom(node, v1::Cause::NODE_LOST, why, 0, now_.monotonic));
  }
  if (leaving != nullptr) {
    if (leaving->leaving().is_quiet()) Acknowledge(run, node, report.heartbeat_seq());
    HearOfLeaving(run, node, leaving->leaving(), now_.monotonic - absl::Milliseconds(leaving->age_ms()));
    if (leaving->leaving().is_quiet()) return;  // and it is gone
  }
  CheckSuccess(run);
  // Whoever was lost without harm while the round ran is missing from the moment it is given up.
  was_recovering ? TryNextRoundAfter(run, node) : TryNextRound(run);
  if (run.record().phase == v1::RUN_PHASE_STOPPING) FixCauseIfKnown(run);
}

// It goes when its processes have ended; the others are told at once.
void Core::Impl::HearOfLeaving(Run& run, Node& node, const v1::NodeLeaving& leaving, MonotonicTime when) {
  std::string why = leaving.reason();
  if (why.empty()) why = leaving.signal() == 0 ? "its agent ended" : "it got " + SignalName(leaving.signal());
  CauseCandidate candidate = CandidateFrom(node, v1::Cause::NODE_LEFT, why, leaving.signal(), when);
  const bool held_ranks = !node.record().is_spare && run.record().round > 0;
  if (GoesOnWithout(run, node)) {
    if (leaving.is_quiet()) return MissNode(run, node, v1::NodeRemoved::LEFT, why, true, std::move(candidate));
    return node.IsAllDone() ? void() : Disturb(run, std::move(candidate));
  }
  if (leaving.is_quiet()) {
    const StreamId stream = node.stream;
    RemoveNode(run, node, v1::NodeRemoved::LEFT, why, true);
    CloseStreamOf(stream);
  }
  if (held_ranks && (run.record().phase == v1::RUN_PHASE_RUNNING || run.record().phase == v1::RUN_PHASE_STOPPING)) {
    Fail(run, std::move(candidate));
  }
  CheckSettled(run);
}

void Core::Impl::On(const ProbeAnswered& event) {
  const auto attached = streams_.find(event.stream);
  if (attached == streams_.end() || attached->second.is_challenger) return;
  const auto [run, node, is_challenger, heartbeat_seq] = attached->second;
  if (node->challenger == nullptr || node->challenger->probe != event.probe) return;
  node->last_seen = now_.monotonic;
  ResolveChallenge(*run, *node, true);
}

void Core::Impl::On(const StreamClosed& event) {
  const auto it = streams_.find(event.stream);
  if (it == streams_.end()) return;
  const auto [run, node, is_challenger, heartbeat_seq] = it->second;
  streams_.erase(it);
  if (is_challenger) {
    node->challenger.reset();
    Schedule(*node);
    return;
  }
  Detach(*run, *node);
  run->waiting_cache.is_valid = false;
  if (node->challenger != nullptr) return ResolveChallenge(*run, *node, false);
  if (run->HasEnded()) {
    node->grace_end = node->is_settled ? MonotonicTime::Never() : now_.monotonic + options_.disconnect_grace;
    Schedule(*node);
    return CheckSettled(*run);
  }
  node->grace_end = now_.monotonic + options_.disconnect_grace;
  Schedule(*node);
}

// A keeper that is answered too early would not try again after a crash.
void Core::Impl::On(const FarewellReceived& event) {
  HearFarewell(event);
  if (event.query != 0) effects_.push_back(Answer{event.query, absl::OkStatus(), v1::FarewellReply()});
}

void Core::Impl::HearFarewell(const FarewellReceived& event) {
  const v1::FarewellRequest& farewell = event.farewell;
  if (farewell.cluster_id() != state_.record().cluster_id) return;
  Run* run = state_.FindRun(farewell.job_id(), farewell.run());
  if (run == nullptr || run->HasEnded()) return;
  Node* node = run->nodes.Find(farewell.node_id());
  if (node == nullptr) return;
  const std::string& owner = node->record().identity;  // without a name the incarnation has to do, as for a join
  if (!owner.empty() && !event.identity.empty() && owner != event.identity) return;
  if (node->record().stale_incarnation != 0 && node->record().stale_incarnation == farewell.incarnation()) {
    ConfirmDead(*run, *node, "its keeper has ended its processes");
    return TryNextRound(*run);
  }
  if (node->record().incarnation != farewell.incarnation() || node->record().is_lost) return;
  std::string reason = "its agent ";
  if (farewell.signal() != 0) {
    absl::StrAppend(&reason, "was killed by ", SignalName(farewell.signal()));
  } else if (farewell.exit_code() != 0) {
    absl::StrAppend(&reason, "ended with exit code ", farewell.exit_code());
  } else {
    absl::StrAppend(&reason, "died");
  }
  LoseNode(*run, *node, absl::StrCat(reason, "; the keeper has ended its processes"), true, farewell.signal());
}

}  // namespace muster::scheduler
