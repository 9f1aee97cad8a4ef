// The loop's sources of news about its processes: the keeper, the processes' files, and the kernel.
#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/base/limits.h"
#include "common/sys/log.h"
#include "worker_agent/keeper/boottime.h"
#include "worker_agent/keeper/text.h"
#include "worker_agent/runtime/agent_loop.h"

namespace muster::agent {
namespace {

// The time to kill the processes of a lost keeper: at first, before their deaths are reported, and then once a second.
constexpr absl::Duration kFirstKillTime = absl::Seconds(1);
constexpr absl::Duration kNextKillTime = absl::Milliseconds(100);
constexpr absl::Duration kNameLeftAfter = absl::Seconds(5);
constexpr absl::Duration kProgressInterval = absl::Seconds(1);

}  // namespace

// Pushes the event for its own slot, and, after `change`, for the slots that share the process (--per_node).
template <typename Event>
void AgentLoop::PushForAll(Event event, void (*change)(Event&)) {
  pending_.push_back(event);
  const auto found = followers_.find(event.key);
  if (found == followers_.end()) return;
  if (change != nullptr) change(event);
  for (const ProcessKey& key : found->second) {
    event.key = key;
    pending_.push_back(event);
  }
}

void AgentLoop::TakeKeeperEvents() {
  keeper_polled_at_ = clock_.Read().monotonic;
  if (is_anybody_left_) EndAfterKeeper();
  for (const KeeperEvent& event : keeper_->Poll()) {
    std::visit([this](const auto& e) { On(e); }, event);
  }
}

void AgentLoop::TakeProgress() {
  const MonotonicTime now = clock_.Read().monotonic;
  if ((progress_.IsIdle() && halts_.IsIdle()) || now < look_at_) return;
  look_at_ = now + std::min(kProgressInterval, core_.heartbeat_interval());
  for (const ProgressMade& made : progress_.Poll()) PushForAll(made);
  for (ProcessHalted& halted : halts_.Poll(now)) pending_.push_back(std::move(halted));
  for (const ActivitySeen& seen : activity_.Poll(now)) PushForAll(seen);
  if (!is_keeper_lost_) {
    for (const OutputWish& wish : activity_.TakeWishes()) keeper_->ReadOutput(wish);
  }
  kernel_log_.Read(now);
}

void AgentLoop::On(const Started& event) {
  progress_.Watch(event.key);
  kernel_log_.Read(clock_.Read().monotonic);
  faults_before_[event.key] = kernel_log_.count();
  if (event.pid > 0) {
    launcher_.Started(event.key, event.pid);
    halts_.Watch(event.key, static_cast<pid_t>(event.pid));
    activity_.Watch(event.key, static_cast<pid_t>(event.pid), clock_.Read().monotonic);
  }
  PushForAll(ProcessHasStarted{event.key, static_cast<uint64_t>(event.pid)});
}

void AgentLoop::On(const Ended& event) {
  progress_.Forget(event.key);
  halts_.Forget(event.key);
  activity_.Forget(event.key);
  ProcessEnd end = event.end;
  AddKernelLines(event.key, end);
  launcher_.Judge(event.key, end);
  PushForAll(ProcessHasEnded{event.key, end, BootTime() - event.ended_at, event.is_anything_left});
  if (!event.is_anything_left) followers_.erase(event.key);
}

// Adds what the kernel has reported about the process's devices since its start.
void AgentLoop::AddKernelLines(const ProcessKey& key, ProcessEnd& end) {
  const auto before = faults_before_.find(key);
  if (before == faults_before_.end()) return;
  if (end.HasFailedByItself()) {
    const MonotonicTime now = clock_.Read().monotonic;
    kernel_log_.Read(now);
    const bool is_known = key.slot < options_.slot_devices.size();
    end.kernel_lines = kernel_log_.FaultsAfter(
        before->second, is_known ? std::optional(options_.slot_devices[key.slot]) : std::nullopt, now);
  }
  faults_before_.erase(before);
}

void AgentLoop::On(const Cleared& event) {
  PushForAll(NothingLeft{event.key});
  followers_.erase(event.key);
}

void AgentLoop::On(const Unkillable& event) {
  PushForAll(
      ProcessIsStuck{event.key, static_cast<uint64_t>(event.pid), event.name, event.state, BootTime() - event.since});
}

void AgentLoop::On(const OutputSeen& event) {
  if (!event.format.empty() && formats_.insert(event.format).second) {
    Log(Severity::kInfo, absl::StrCat("--expect auto: the output has the progress lines of ", event.format));
  }
  OutputMatched matched;
  matched.key = event.key;
  matched.changes = event.changes;
  matched.unseen = event.unseen;
  if (event.has_step) matched.step = event.step;
  PushForAll(
      matched, +[](OutputMatched& one) { one.is_shared = true; });
}

void AgentLoop::On(const OutputRead& event) {
  if (event.asked_on == 0) return activity_.Take(event, clock_.Read().monotonic);
  v1::SlotLog log;
  if (!event.is_found) log.set_note("no process was started there");
  log.set_round(event.key.round);
  log.set_attempt(event.key.attempt);
  log.set_pid(static_cast<uint64_t>(event.pid));
  log.set_has_ended(event.has_ended);
  log.set_text(event.text);
  log.set_unfinished(event.unfinished);
  log.set_end(event.end);
  log.set_has_gap(event.has_gap);
  log.set_log_file(CleanText(event.log_file, kMaxLogFileBytes));
  pending_.push_back(LogRead{event.query, event.asked_on, std::move(log)});
}

void AgentLoop::On(const KeeperLost&) {
  is_keeper_lost_ = true;
  keeper_lost_at_ = BootTime();
  progress_.ForgetAll();
  halts_.ForgetAll();
  activity_.ForgetAll();
  faults_before_.clear();
  stacks_.Abandon();
  node_check_.Abandon();
  EndAfterKeeper();
}

// Reports at once that the keeper died, and its processes with it. Processes that could not be killed yet still count
// as left: until they are gone, the agent does not quit the round.
void AgentLoop::EndAfterKeeper() {
  const absl::Status status = Keeper::KillAllDescendants(is_anybody_left_ ? kNextKillTime : kFirstKillTime);
  if (status.ok()) {
    is_anybody_left_ = false;
    pending_.push_back(KeeperDied{});
    return;
  }
  if (!std::exchange(is_anybody_left_, true)) pending_.push_back(KeeperDied{/*leaves_some=*/true});
  if (BootTime() - keeper_lost_at_ >= kNameLeftAfter && !std::exchange(has_named_left_, true)) {
    Log(Severity::kError,
        absl::StrCat("the keeper was lost, and processes that it started may still run: ",
                     std::string(status.message()), "; until they are gone, this node's ranks can't start again"));
  }
}

void AgentLoop::On(const KeeperSilent&) {
  Log(Severity::kError,
      absl::StrCat("the keeper (process ", keeper_->pid(), ") has not answered for 5 s: it was stopped (kill -CONT ",
                   keeper_->pid(),
                   " lets it go on), or the machine is overloaded. Until it answers, the agent does not notice when a "
                   "process ends. If the processes must be stopped, the agent kills the keeper, which ends them, too"));
}

}  // namespace muster::agent
