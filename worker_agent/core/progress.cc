#include "worker_agent/core/progress.h"

#include <algorithm>

#include "common/base/check.h"
#include "common/base/limits.h"

namespace muster::agent {

void Progress::Made(const ProcessKey& id, std::optional<uint64_t> step, MonotonicTime now) {
  Last& last = last_[id];
  last.has_progress = last.has_file = true;
  last.step = step;
  last.changed = now;
}

void Progress::Matched(const OutputMatched& event, MonotonicTime now) {
  Last& last = last_[event.key];
  // Lines that were not looked at may have shown progress.
  if (event.unseen != last.unseen && last.has_progress && !last.has_file) last.changed = now;
  last.unseen = event.unseen;
  last.is_shared = event.is_shared;
  if (event.changes == last.changes) return;
  last.changes = event.changes;
  last.has_progress = true;
  last.changed = now;
  if (!last.has_file) last.step = event.step;
}

void Progress::Saw(const ActivitySeen& event) {
  activity_[event.key] = event;
  has_activity_news_ = true;
}

void Progress::Excuse(absl::Duration time) {
  for (auto& [id, last] : last_) last.changed = last.changed + time;
}

void Progress::Fill(v1::Report& report, MonotonicTime now) const {
  if (last_.empty()) return;
  report.set_progress_round(last_.begin()->first.round);
  for (const auto& [id, last] : last_) {
    if (!last.is_shared) report.set_unseen_lines(report.unseen_lines() + last.unseen);
    if (!last.has_progress) continue;
    if (report.progress_size() == static_cast<int>(kMaxSlotsPerNode)) return;
    v1::SlotProgress& progress = *report.add_progress();
    progress.set_slot(id.slot);
    progress.set_attempt(id.attempt);
    if (last.step && !last.has_file) progress.set_output_step(*last.step);
    if (last.step && last.has_file) progress.set_step(*last.step);
    progress.set_since_progress_ms(
        static_cast<uint64_t>(std::max<int64_t>(0, absl::ToInt64Milliseconds(now - last.changed))));
  }
}

void Progress::FillActivity(v1::Report& report, MonotonicTime now) const {
  if (!has_activity_news_ || activity_.empty()) return;
  report.set_progress_round(activity_.begin()->first.round);
  for (const auto& [id, seen] : activity_) {
    if (report.activity_size() == static_cast<int>(kMaxSlotsPerNode)) return;
    v1::SlotActivity& activity = *report.add_activity();
    activity.set_slot(id.slot);
    activity.set_attempt(id.attempt);
    if (seen.has_output) {
      activity.set_since_output_ms(
          static_cast<uint64_t>(std::max<int64_t>(0, absl::ToInt64Milliseconds(now - seen.last_output))));
    }
    if (seen.cpu_percent) activity.set_cpu_percent(*seen.cpu_percent);
    if (seen.state != 0) activity.set_state(std::string(1, seen.state));
  }
}

std::string Progress::ForDatagram(MonotonicTime now) const {
  v1::Report report;
  Fill(report, now);
  FillActivity(report, now);
  return report.ByteSizeLong() <= kMaxProgressBytes ? report.SerializeAsString() : "";
}

void Progress::CheckInvariants(const Processes& processes) const {
  for (const auto& [id, last] : last_) MUSTER_CHECK(processes.IsRunning(id), "only running processes make progress");
  for (const auto& [id, seen] : activity_) MUSTER_CHECK(processes.IsRunning(id), "only running processes are active");
}

}  // namespace muster::agent
