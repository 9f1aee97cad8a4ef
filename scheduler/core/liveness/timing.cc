// What time alone brings about: leases, graces, timeouts, and the scheduler's doubts about itself.
//
//   deadline of a node     set when                                  when it is due
//   lease_end              connected; anew at each heartbeat         lost (unless the scheduler suspects itself)
//   grace_end              its connection broke; after a restart     lost
//   stale_end              lost with an armed and guarded fence      its processes are confirmed dead
//   restart_at             scope "worker": a process failed          the failed slots start again
//   challenger's           two claim its id                          the newcomer takes over
//
//   deadline of a run      set when                                  when it is due
//   topo_deadline          forming                                   the run fails: who is missing
//   spare_deadline         forming, spares could fill in             they do
//   cause_deadline         failing                                   the cause is fixed with what is known
//   settle_deadline        ended                                     whoever has not heard is not waited for
//   rejoin_deadline        somebody is lost                          the run fails: who did not come back
//   restart_at             recovering, after a back-off              the next round may close
//   look_deadline          recovering, a large run                   all nodes are looked at again
//   forget_at              ended                                     the run is forgotten
//
//   store_waits' next      somebody waits for a key                  it is answered that nothing came
//
// A loop that was late could hear nobody. It moves on what waits for people (topo, spare, cause, settle, rejoin and the
// challenger's) by as much as it was late, gives each lease a full term, and each grace what is left of it, at least
// disconnect_grace. Back-offs, fences and forgetting go on: they wait for nobody.
#include <algorithm>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "common/base/limits.h"
#include "scheduler/core/core_impl.h"
#include "scheduler/core/membership/admission.h"
#include "scheduler/core/membership/waiting.h"
#include "scheduler/core/views/event_log.h"

namespace muster::scheduler {

absl::Duration Core::Impl::HeartbeatInterval() const {
  if (options_.heartbeat_interval) return *options_.heartbeat_interval;
  const absl::Duration usual = connected_nodes_ > 1000 ? absl::Seconds(5) : absl::Seconds(2);
  return std::min(usual, options_.lease / 3);
}

absl::Duration Core::Impl::TopoTimeout(const v1::JobSettings& settings) const {
  if (!settings.has_topo_timeout_ms()) return options_.topo_timeout;
  return settings.topo_timeout_ms() < 0 ? absl::InfiniteDuration() : absl::Milliseconds(settings.topo_timeout_ms());
}

// What a spare arms: long enough that the keeper, which ends stop_timeout + 5 s early, isn't hasty.
absl::Duration Core::Impl::SpareFence() const {
  const absl::Duration unhurried = options_.stop_timeout + absl::Seconds(5) + 5 * HeartbeatInterval();
  return std::clamp(unhurried, absl::Seconds(120), absl::Milliseconds(kLongestFenceMs));
}

// In whole milliseconds, as it is told. None while the scheduler goes away: see SayGoingAway.
absl::Duration Core::Impl::FenceTimeout(Run& run) {
  if (is_draining_) return absl::ZeroDuration();
  if (options_.fence_timeout) return absl::Ceil(*options_.fence_timeout, absl::Milliseconds(1));
  if (run.record().spare_count > 0) run.fence = std::max(run.fence, absl::Ceil(SpareFence(), absl::Milliseconds(1)));
  return run.fence;
}

void Core::Impl::Schedule(Run& run) {
  // A restart that only waits for its back-off; what else it waits for comes as an event. Other events may come between
  // the end of the back-off and OnDue.
  const bool is_recovering = run.record().phase == v1::RUN_PHASE_RECOVERING;
  deadlines_.Set(run.handle, std::min({run.topo_deadline, run.spare_deadline, run.cause_deadline, run.settle_deadline,
                                       run.rejoin_deadline, run.forget_at, run.store_waits.Next(),
                                       is_recovering && run.is_held_back ? run.restart_at : MonotonicTime::Never(),
                                       is_recovering ? run.look_deadline : MonotonicTime::Never()}));
}

void Core::Impl::Schedule(Node& node) {
  const MonotonicTime challenge = node.challenger == nullptr ? MonotonicTime::Never() : node.challenger->deadline;
  deadlines_.Set(node.handle, std::min({node.lease_end, node.grace_end, node.stale_end, node.restart_at, challenge}));
}

void Core::Impl::On(const Tick&) {
  is_ticking_ = true;
  TakeDue();
  is_ticking_ = false;
  for (const uint64_t handle : std::exchange(to_try_, {})) {
    const auto owner = owners_.find(handle);
    if (owner != owners_.end()) TryNextRound(*owner->second.run);
  }
}

void Core::Impl::TakeDue() {
  while (const DeadlineQueue::Handle handle = deadlines_.PopDue(now_.monotonic)) {
    if (handle == once_handle_) {
      v1::Outcome outcome;
      outcome.mutable_cause()->set_kind(v1::Cause::NEVER_FORMED);
      outcome.mutable_cause()->set_text(
          absl::StrCat("no node joined within ", FormatAge(TopoTimeout(options_.settings)), " (MS_TOPO_TIMEOUT)"));
      outcome.mutable_cause()->set_remedy(
          "start ms-worker on every node with this scheduler's MS_SCHED_HOST and MS_SCHED_PORT, or raise "
          "MS_TOPO_TIMEOUT");
      effects_.push_back(RunSettled{"", 0, outcome});
      continue;
    }
    if (gatherings_.contains(handle)) {
      FinishGathering(handle);
      continue;
    }
    const auto owner = owners_.find(handle);
    if (owner == owners_.end()) continue;
    const auto [run, node] = owner->second;
    node == nullptr ? OnDue(*run) : OnDue(*run, *node);
  }
}

void Core::Impl::OnDue(Run& run) {
  ExpireStoreWaits(run);
  if (now_.monotonic >= run.topo_deadline && run.record().phase == v1::RUN_PHASE_FORMING) {
    if (run.nodes.empty() && !options_.is_once) return ForgetRun(run);  // nobody is left to be told
    run.topo_deadline = MonotonicTime::Never();
    v1::WaitStatus status = DescribeWaiting(run, now_.monotonic);
    return Fail(run,
                Decision(v1::Cause::NEVER_FORMED,
                         absl::StrCat("not all nodes came within ", FormatAge(TopoTimeout(run.record().settings)),
                                      " (MS_TOPO_TIMEOUT): ", status.text()),
                         "start the missing nodes with the same settings, or raise MS_TOPO_TIMEOUT", now_.monotonic));
  }
  if (now_.monotonic >= run.spare_deadline && run.record().phase == v1::RUN_PHASE_FORMING) {
    TryCloseRound(run);
    if (run.record().phase == v1::RUN_PHASE_FORMING) run.spare_deadline = now_.monotonic + absl::Seconds(10);
  }
  if (now_.monotonic >= run.forget_at) return ForgetRun(run);
  if (now_.monotonic >= run.restart_at) run.is_held_back = false;
  if (now_.monotonic >= run.rejoin_deadline && run.record().phase == v1::RUN_PHASE_RECOVERING) {
    LookForNextRound(run);  // who was missing may be back
    if (now_.monotonic >= run.rejoin_deadline && run.record().phase == v1::RUN_PHASE_RECOVERING)
      return FailForMissing(run);
  }
  TryNextRound(run);
  FixCauseIfKnown(run);
  CheckSettled(run);
  Schedule(run);
}

void Core::Impl::FailForMissing(Run& run) {
  std::vector<std::string> missing;
  bool is_any_stale = false;
  bool is_any_unguarded = false;
  for (const auto& [id, node] : run.nodes) {
    is_any_stale |= node.record().stale_incarnation != 0;
    is_any_unguarded |= node.record().stale_incarnation != 0 && node.IsFenceUnguarded();
    if (node.record().is_lost && missing.size() < 8)
      missing.push_back(absl::StrCat(NodeText(node), ": ", node.record().lost_reason));
  }
  Fail(run, Decision(v1::Cause::NODE_LOST,
                     absl::StrCat("not all nodes came back within ", FormatAge(RejoinTimeout(run)),
                                  " (--rejoin_timeout): ", absl::StrJoin(missing, "; ")),
                     is_any_unguarded
                         ? "their old processes may still run, and not all can promise that the fence ends them: "
                           "`ms-ctl fence NODE` once they certainly don't"
                     : is_any_stale
                         ? "their old processes may still run: `ms-ctl fence NODE` once they certainly don't, or set "
                           "--fence_timeout"
                         : "start ms-worker on them again in time, keep a --spare, or raise --rejoin_timeout",
                     now_.monotonic));
}

void Core::Impl::OnDue(Run& run, Node& node) {
  if (node.challenger != nullptr && now_.monotonic >= node.challenger->deadline)
    return ResolveChallenge(run, node, false);
  if (run.HasEnded()) {
    if (now_.monotonic >= node.lease_end) {
      const StreamId stream = node.stream;
      Detach(run, node);
      CloseStreamOf(stream);
      node.grace_end = now_.monotonic;
    }
    return CheckSettled(run);
  }
  if (now_.monotonic >= node.stale_end) {
    ConfirmDead(run, node, "its fence has ended its processes by now (--fence_timeout)");
    return TryNextRound(run);
  }
  if (now_.monotonic >= node.restart_at) RestartFailedSlots(run, node);
  if (now_.monotonic >= node.lease_end) {
    if (!node.had_extra_lease && SuspectsItself()) return Schedule(node);
    return LoseNode(run, node,
                    absl::StrCat("connected but silent for ", FormatAge(now_.monotonic - node.last_seen),
                                 " (MS_NODE_TIMEOUT is ", FormatAge(Lease()), ")"),
                    false, 0);
  }
  if (now_.monotonic >= node.grace_end) {
    return LoseNode(run, node,
                    node.was_seen ? absl::StrCat("its connection broke and it did not come back within ",
                                                 FormatAge(options_.disconnect_grace), " (--disconnect_grace)")
                                  : absl::StrCat("it did not come back within ", FormatAge(Lease()),
                                                 " of the scheduler's restart (MS_NODE_TIMEOUT)"),
                    false, 0);
  }
  Schedule(node);
}

// When half of all leases end within a second, and that is more than a few, the fault is more likely here: everybody
// whose lease ends now gets one more term, once.
bool Core::Impl::SuspectsItself() {
  constexpr uint64_t kFew = 3;
  std::vector<std::pair<Run*, Node*>> ending;
  uint64_t connected = 0;
  for (auto& [job_id, job] : state_.jobs) {
    for (auto& [number, run] : job.runs) {
      if (run.HasEnded()) continue;
      for (auto& [id, node] : run.nodes) {
        if (node.stream == 0) continue;
        ++connected;
        if (node.lease_end <= now_.monotonic + absl::Seconds(1)) ending.emplace_back(&run, &node);
      }
    }
  }
  if (ending.size() < kFew || ending.size() * 2 < connected) return false;
  for (const auto& [run, node] : ending) {
    if (node->had_extra_lease) continue;
    node->lease_end = now_.monotonic + Lease();
    node->had_extra_lease = true;
    Schedule(*node);
  }
  v1::StoryEvent event;
  event.set_kind("self_suspicion");
  event.set_unix_ms(now_.wall.unix_ms);
  event.set_text(absl::StrCat(ending.size(), " of ", connected,
                              " leases end within a second: this scheduler may have been away, so they "
                              "get one more term of ",
                              FormatAge(Lease())));
  effects_.push_back(Announce{Severity::kWarning, std::make_shared<const v1::StoryEvent>(std::move(event))});
  return true;
}

// While the loop was away nobody could be heard: silence in that time is nobody's fault, and nobody could come in. No
// deadline moves nearer.
void Core::Impl::On(const LoopWasLate& event) {
  if (!once_deadline_.is_never()) deadlines_.Set(once_handle_, once_deadline_ = once_deadline_ + event.by);
  for (auto& [job_id, job] : state_.jobs) {
    for (auto& [number, run] : job.runs) {
      for (MonotonicTime* deadline :
           {&run.topo_deadline, &run.spare_deadline, &run.cause_deadline, &run.rejoin_deadline, &run.settle_deadline}) {
        *deadline = *deadline + event.by;
      }
      Schedule(run);
      for (auto& [id, node] : run.nodes) {
        if (node.stream != 0) node.lease_end = now_.monotonic + Lease();
        if (node.stream == 0 && !node.grace_end.is_never()) {
          node.grace_end = std::max(node.grace_end, now_.monotonic + options_.disconnect_grace);
        }
        node.missing_since = node.missing_since + event.by;
        if (node.challenger != nullptr) node.challenger->deadline = node.challenger->deadline + event.by;
        Schedule(node);
      }
    }
  }
}

}  // namespace muster::scheduler
