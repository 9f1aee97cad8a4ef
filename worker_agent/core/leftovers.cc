// What processes have left that have died: it was sent SIGKILL, and hangs in the kernel or is traced.
//
//   the process                  something is left                      nothing is left
//   failed, or was stopped       reported at once                       -
//   ended well                   reported once it is known that it      reported
//                                can't be killed, with that word
//
// Until nothing is left the slot is taken, and the round is not quit (converging.cc), nor the node left (ending.cc).
#include <algorithm>
#include <set>
#include <utility>

#include "common/base/limits.h"
#include "worker_agent/core/impl.h"
#include "worker_agent/core/messages.h"

namespace muster::agent {
void AgentCore::Impl::OnEvent(const NothingLeft& event) {
  if (!processes_.MarkCleared(event.key)) return;
  ReportHeldEnd(event.key, false);
  NoteCleared();
}

void AgentCore::Impl::ReportHeldEnd(const ProcessKey& key, bool has_remains) {
  const auto held = held_ends_.find(key);
  if (held == held_ends_.end()) return;
  reporter_.AddEnd(key, held->second.end, held->second.happened, has_remains);
  held_ends_.erase(held);
}

void AgentCore::Impl::NoteCleared() {
  if (processes_.IsAnyLeft()) return;
  stopping_since_.reset();
  was_killed_ = false;
}

void AgentCore::Impl::OnEvent(const ProcessIsStuck& event) {
  const bool is_known = processes_.Stuck().contains(event.key);
  const absl::Duration age = std::max(event.age, absl::ZeroDuration());
  if (!processes_.MarkStuck(event.key, {event.pid, event.name, event.state, now_ - age})) return;
  ReportHeldEnd(event.key, true);
  // An agent that ends is about to name all of them.
  if (!is_known && !ending_) {
    Emit(SayLeft({ranks_.at(event.key.slot), event.pid, event.name, event.state}, age));
  }
}

std::vector<NamedProcess> AgentCore::Impl::StuckProcesses() const {
  std::vector<NamedProcess> named;
  std::set<uint64_t> pids;  // one may be that of several slots (--per_node)
  for (const auto& [id, stuck] : processes_.Stuck()) {
    if (pids.insert(stuck.pid).second) named.push_back({ranks_.at(id.slot), stuck.pid, stuck.name, stuck.state});
  }
  for (const ProcessKey& id : processes_.Running()) {
    const uint64_t pid = processes_.PidOf(id.slot);
    if (processes_.Stuck().contains(id)) continue;
    if (pid == 0 || pids.insert(pid).second) named.push_back({ranks_.at(id.slot), pid, "", ""});
  }
  for (const ProcessKey& id : processes_.Left()) {
    if (!processes_.Stuck().contains(id)) named.push_back({ranks_.at(id.slot), 0, "", "", /*is_left=*/true});
  }
  return named;
}

void AgentCore::Impl::FillStuck(v1::Report& report) {
  has_told_stuck_ = !processes_.Stuck().empty();
  std::set<uint64_t> pids;
  for (const auto& [id, stuck] : processes_.Stuck()) {
    if (report.stuck_size() == kMaxStuckPerReport) return;
    if (!pids.insert(stuck.pid).second) continue;
    v1::StuckProcess& entry = *report.add_stuck();
    entry.set_slot(id.slot);
    entry.set_pid(stuck.pid);
    entry.set_name(stuck.name);
    entry.set_state(stuck.state);
    entry.set_stuck_ms(static_cast<uint64_t>(std::max<int64_t>(0, absl::ToInt64Milliseconds(now_ - stuck.since))));
  }
}

}  // namespace muster::agent
