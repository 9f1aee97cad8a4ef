// Handles deadlines: leases, graces and timeouts. If half of all leases end at once, it suspects that the scheduler
// itself was suspended.
//
//   deadline of a node     set when                                  when it is due
//   lease_end              it connects, or sends a heartbeat         it is lost (unless the scheduler suspects itself)
//   grace_end              its connection breaks, or the scheduler   it is lost
//                          restarts (see SetGrace)
//   stale_end              it is lost with an armed, guarded fence   its processes are confirmed dead
//   restart_at             one of its processes fails (scope         the failed slots start again
//                          "worker")
//   challenger's deadline  a second agent claims its id              the second agent takes over
//
//   deadline of a run      set when                                  when it is due
//   topo_deadline          it begins to form                         it fails, and its cause names the missing nodes
//   spare_deadline         it forms, and spares could fill in        the spares fill in
//   cause_deadline         it begins to fail                         the cause is chosen from the known failures
//   settle_deadline        it ends                                   the run settles without the remaining agents
//   rejoin_deadline        a node is lost                            it fails, and its cause names the lost nodes
//   progress_deadline      it runs with --progress_timeout           a warning, if no process shows progress
//   first_progress_deadline  it runs with --first_progress_timeout   its stacks are gathered, if no process shows
//                                                                    progress: then it is given up or reported
//   restart_at             it recovers, after a back-off             the next round may close
//   look_deadline          it recovers, and has many nodes           all nodes are checked again
//   the end of an Unquit   a spare leaves without having quit,       its processes count as ended
//                          with an armed, guarded fence
//   forget_at              it ends                                   it is forgotten
//
//   store_waits.Next()     a call waits for a key                    the call gets DEADLINE_EXCEEDED
//   a lighthouse's         it has replicas                           Lighthouses::OnDue
//
// While the loop was late, it could not hear the nodes. Afterwards all deadlines for which something must arrive (topo,
// spare, cause, settle, rejoin, progress and the challenger's) move by the time that it was late. Each lease gets a
// full term, and each grace lasts for at least another disconnect_grace. Back-offs, fences and forget_at stay as they
// are, because they wait for no message.
#include <algorithm>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "common/base/text.h"
#include "scheduler/core/facts/progress.h"
#include "scheduler/core/liveness/liveness.h"
#include "scheduler/core/places/other_jobs.h"
#include "scheduler/core/places/waiting.h"

namespace muster::scheduler {

void Liveness::On(const Tick&) {
  lifecycle_.BeginTick();
  TakeDue();
  lifecycle_.EndTick();
}

void Liveness::TakeDue() {
  while (const DeadlineQueue::Handle handle = context_.deadlines.PopDue(context_.now.monotonic)) {
    if (handle == context_.once_handle) {
      v1::Outcome outcome;
      outcome.mutable_cause()->set_kind(v1::Cause::NEVER_FORMED);
      outcome.mutable_cause()->set_text(absl::StrCat(
          "no node joined within ", FormatAge(context_.TopoTimeout(context_.options.own.rules)), " (MS_TOPO_TIMEOUT)"));
      outcome.mutable_cause()->set_remedy(
          "start ms-worker on every node with this scheduler's MS_SCHED_HOST and MS_SCHED_PORT, or raise "
          "MS_TOPO_TIMEOUT");
      context_.effects.push_back(RunSettled{"", 0, outcome});
      context_.once_deadline = MonotonicTime::Never();
      continue;
    }
    if (stacks_.IsUnderWay(handle)) {
      stacks_.Finish(handle);
      continue;
    }
    if (logs_.IsUnderWay(handle)) {
      logs_.GiveUp(handle);
      continue;
    }
    if (lighthouses_.IsOne(handle)) {
      lighthouses_.OnDue(handle);
      continue;
    }
    const auto owner = context_.owners.find(handle);
    if (owner == context_.owners.end()) continue;
    const auto [run, node] = owner->second;
    node == nullptr ? OnDue(*run) : OnDue(*run, *node);
  }
}

void Liveness::OnDue(Run& run) {
  store_.ExpireWaits(run);
  if (context_.now.monotonic >= run.topo_deadline && run.record().phase == v1::RUN_PHASE_FORMING) {
    // Without any node, there is no agent that needs the outcome.
    if (run.nodes.empty() && !context_.options.is_once) return lifecycle_.ForgetRun(run);
    run.topo_deadline = MonotonicTime::Never();
    const v1::WaitStatus status =
        DescribeWaiting(run, context_.now.monotonic, DescribeOtherJobs(context_.state, run, context_.now.monotonic));
    return lifecycle_.Fail(
        run,
        Decision(v1::Cause::NEVER_FORMED,
                 absl::StrCat("not all nodes joined within ", FormatAge(context_.TopoTimeout(run.record().settings)),
                              " (MS_TOPO_TIMEOUT): ", status.text()),
                 "start the missing nodes with the same settings, or raise MS_TOPO_TIMEOUT", context_.now.monotonic));
  }
  if (context_.now.monotonic >= run.spare_deadline && run.record().phase == v1::RUN_PHASE_FORMING) {
    lifecycle_.TryCloseRound(run);
    if (run.record().phase == v1::RUN_PHASE_FORMING) run.spare_deadline = context_.now.monotonic + kSpareWait;
  }
  if (context_.now.monotonic >= run.progress_deadline) {
    run.progress_deadline = MonotonicTime::Never();
    run.lacks_progress = IsUnwatched(run);
    if (run.lacks_progress) {
      context_.Warn(run, "progress_not_written", DescribeUnwatched(run));
    } else if (run.record().phase == v1::RUN_PHASE_RUNNING && WatchedProcesses(run).empty()) {
      run.progress_deadline = context_.now.monotonic + FirstProgressLimit(run);  // no process runs yet
    }
  }
  if (context_.now.monotonic >= run.first_progress_deadline) {
    run.first_progress_deadline = MonotonicTime::Never();
    if (run.record().phase == v1::RUN_PHASE_RUNNING && WatchedProcesses(run).empty()) {
      if (LacksFirstProgress(run) && !run.is_looking_into_stall && !run.stall) {
        stacks_.LookIntoStall(run, StackInquiry::Stall::kBeforeTheFirst);
      } else {
        run.first_progress_deadline = FirstProgressDeadline(run, context_.now.monotonic);  // nothing is known yet
      }
    }
  }
  if (context_.now.monotonic >= run.forget_at) return lifecycle_.ForgetRun(run);
  if (context_.now.monotonic >= run.restart_at) run.is_held_back = false;
  const auto has_ended = [this](const auto& one) { return context_.now.monotonic >= one.second.end; };
  if (std::erase_if(run.unquit, has_ended) > 0) run.waiting_cache.is_valid = false;
  if (context_.now.monotonic >= run.rejoin_deadline && run.record().phase == v1::RUN_PHASE_RECOVERING) {
    lifecycle_.LookForNextRound(run);  // missing nodes may be back
    if (context_.now.monotonic >= run.rejoin_deadline && run.record().phase == v1::RUN_PHASE_RECOVERING)
      return FailForMissing(run);
  }
  lifecycle_.TryNextRound(run);
  lifecycle_.FixCauseIfKnown(run);
  lifecycle_.CheckSettled(run);
  context_.Schedule(run);
}

void Liveness::FailForMissing(Run& run) {
  std::vector<std::string> missing;
  bool is_any_stale = false;
  bool is_any_unguarded = false;
  for (const auto& [id, node] : run.nodes) {
    is_any_stale |= node.record().stale_incarnation != 0;
    is_any_unguarded |= node.record().stale_incarnation != 0 && node.IsFenceUnguarded();
    if (node.record().is_lost && missing.size() < 8)
      missing.push_back(absl::StrCat(NodeText(node), ": ", node.record().lost_reason));
  }
  lifecycle_.Fail(
      run,
      Decision(v1::Cause::NODE_LOST,
               absl::StrCat("not all nodes came back within ", FormatAge(context_.RejoinTimeout(run)),
                            " (--rejoin_timeout): ", absl::StrJoin(missing, "; ")),
               is_any_unguarded ? "their old processes may still run, and the fence is not guaranteed to end all of "
                                  "them: run `ms-ctl fence NODE` once they have certainly ended"
               : is_any_stale   ? "their old processes may still run: run `ms-ctl fence NODE` once they have "
                                  "certainly ended, or set --fence_timeout"
                                : "start ms-worker on them again in time, keep a --spare, or raise --rejoin_timeout",
               context_.now.monotonic));
}

void Liveness::OnDue(Run& run, Node& node) {
  if (node.challenger != nullptr && context_.now.monotonic >= node.challenger->deadline)
    return membership_.ResolveChallenge(run, node, false);
  if (run.HasEnded()) {
    if (context_.now.monotonic >= node.lease_end) {
      const StreamId stream = node.stream;
      places_.Detach(run, node);
      context_.CloseStreamOf(stream);
      node.grace_end = context_.now.monotonic;
    }
    return lifecycle_.CheckSettled(run);
  }
  if (context_.now.monotonic >= node.stale_end) {
    lifecycle_.ConfirmDead(run, node, "its fence has ended its processes by now (--fence_timeout)");
    return lifecycle_.TryNextRound(run);
  }
  if (context_.now.monotonic >= node.restart_at) lifecycle_.RestartFailedSlots(run, node);
  if (context_.now.monotonic >= node.lease_end) {
    if (!node.had_extra_lease && SuspectsItself()) return context_.Schedule(node);
    return lifecycle_.LoseNode(
        run, node,
        absl::StrCat("connected but silent for ", FormatAge(context_.now.monotonic - node.last_seen),
                     " (MS_NODE_TIMEOUT is ", FormatAge(context_.options.lease), ")"),
        false, 0);
  }
  if (context_.now.monotonic >= node.grace_end) {
    if (node.was_silent) {
      return lifecycle_.LoseNode(run, node,
                                 absl::StrCat("its machine or network is gone: no heartbeat for ",
                                              FormatAge(context_.now.monotonic - node.last_seen),
                                              ", and TCP got no answer either (--disconnect_grace ",
                                              FormatAge(context_.options.disconnect_grace), ")"),
                                 false, 0);
    }
    return lifecycle_.LoseNode(run, node,
                               node.was_seen
                                   ? absl::StrCat("its connection broke and it did not come back within ",
                                                  FormatAge(context_.options.disconnect_grace), " (--disconnect_grace)")
                                   : absl::StrCat("it did not come back within ", FormatAge(context_.options.lease),
                                                  " of the scheduler's restart (MS_NODE_TIMEOUT)"),
                               false, 0);
  }
  context_.Schedule(node);
}

// If at least three leases, and at least half of all, end within a second, this scheduler was probably suspended. Then
// each node with such a lease gets one more term, but only once. Returns true if the condition holds.
bool Liveness::SuspectsItself() {
  constexpr uint64_t kFew = 3;
  std::vector<std::pair<Run*, Node*>> ending;
  uint64_t connected = 0;
  for (auto& [job_id, job] : context_.state.jobs) {
    for (auto& [number, run] : job.runs) {
      if (run.HasEnded()) continue;
      for (auto& [id, node] : run.nodes) {
        if (node.stream == 0) continue;
        ++connected;
        if (node.lease_end <= context_.now.monotonic + absl::Seconds(1)) ending.emplace_back(&run, &node);
      }
    }
  }
  if (ending.size() < kFew || ending.size() * 2 < connected) return false;
  for (const auto& [run, node] : ending) {
    if (node->had_extra_lease) continue;
    node->lease_end = context_.now.monotonic + context_.options.lease;
    node->had_extra_lease = true;
    context_.Schedule(*node);
  }
  v1::JobEvent event;
  event.set_kind("self_suspicion");
  event.set_unix_ms(context_.now.wall.unix_ms);
  event.set_text(
      absl::StrCat(ending.size(), " of ", connected,
                   " leases end within a second: this scheduler may have been suspended, so it extends them once, by ",
                   FormatAge(context_.options.lease)));
  context_.effects.push_back(Announce{Severity::kWarning, std::make_shared<const v1::JobEvent>(std::move(event))});
  return true;
}

// While the loop was late it could not hear the nodes, so silence in that time is not their fault. No deadline moves to
// an earlier time.
void Liveness::On(const LoopWasLate& event) {
  context_.late_until = context_.now.monotonic;
  lighthouses_.OnLoopWasLate(event.by);
  if (!context_.once_deadline.is_never())
    context_.deadlines.Set(context_.once_handle, context_.once_deadline = context_.once_deadline + event.by);
  for (auto& [job_id, job] : context_.state.jobs) {
    for (auto& [number, run] : job.runs) {
      for (MonotonicTime* deadline :
           {&run.topo_deadline, &run.spare_deadline, &run.cause_deadline, &run.rejoin_deadline, &run.settle_deadline,
            &run.progress_deadline, &run.first_progress_deadline}) {
        *deadline = *deadline + event.by;
      }
      context_.Schedule(run);
      for (auto& [id, node] : run.nodes) {
        if (node.stream != 0) node.lease_end = context_.now.monotonic + context_.options.lease;
        if (node.stream == 0 && !node.grace_end.is_never()) {
          node.grace_end = std::max(node.grace_end, context_.now.monotonic + context_.options.disconnect_grace);
        }
        node.missing_since = node.missing_since + event.by;
        if (node.challenger != nullptr) node.challenger->deadline = node.challenger->deadline + event.by;
        context_.Schedule(node);
      }
    }
  }
}

}  // namespace muster::scheduler
