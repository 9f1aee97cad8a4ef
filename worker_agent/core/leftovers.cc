#include "worker_agent/core/leftovers.h"

#include <algorithm>
#include <set>

#include "common/base/limits.h"

namespace muster::agent {

void HeldEnds::Report(const ProcessKey& key, bool has_remains) {
  const auto held = held_.find(key);
  if (held == held_.end()) return;
  reporter_.AddEnd(key, held->second.end, held->second.happened, has_remains);
  held_.erase(held);
}

void HeldEnds::ReportAll() {
  while (!held_.empty()) Report(held_.begin()->first, false);
}

std::vector<NamedProcess> NameAllLeft(const Processes& processes) {
  std::vector<NamedProcess> named;
  std::set<uint64_t> pids;  // several slots may share one process (--per_node)
  for (const auto& [id, stuck] : processes.Stuck()) {
    if (!pids.insert(stuck.pid).second) continue;
    named.push_back({processes.RankOf(id.slot), stuck.pid, stuck.name, stuck.state});
  }
  for (const ProcessKey& id : processes.Running()) {
    const uint64_t pid = processes.PidOf(id.slot);
    if (processes.Stuck().contains(id)) continue;
    if (pid == 0 || pids.insert(pid).second) named.push_back({processes.RankOf(id.slot), pid, "", ""});
  }
  for (const ProcessKey& id : processes.Left()) {
    if (processes.Stuck().contains(id)) continue;
    named.push_back({processes.RankOf(id.slot), 0, "", "", /*is_left=*/true});
  }
  return named;
}

void FillStuck(const Processes& processes, MonotonicTime now, v1::Report& report) {
  std::set<uint64_t> pids;
  for (const auto& [id, stuck] : processes.Stuck()) {
    if (report.stuck_size() == kMaxStuckPerReport) return;
    if (!pids.insert(stuck.pid).second) continue;
    v1::StuckProcess& entry = *report.add_stuck();
    entry.set_slot(id.slot);
    entry.set_pid(stuck.pid);
    entry.set_name(stuck.name);
    entry.set_state(stuck.state);
    entry.set_stuck_ms(static_cast<uint64_t>(std::max<int64_t>(0, absl::ToInt64Milliseconds(now - stuck.since))));
  }
}

void FillHalted(const std::map<ProcessKey, ProcessHalted>& halted, MonotonicTime now, v1::Report& report) {
  for (const auto& [key, one] : halted) {
    if (report.halted_size() == kMaxHaltedPerReport) return;
    v1::HaltedProcess& entry = *report.add_halted();
    entry.set_slot(key.slot);
    entry.set_pid(one.pid);
    entry.set_name(one.name);
    entry.set_state(one.state);
    entry.set_waits_in(one.waits_in);
    entry.set_halted_ms(static_cast<uint64_t>(std::max<int64_t>(0, absl::ToInt64Milliseconds(now - one.since))));
  }
}

}  // namespace muster::agent
