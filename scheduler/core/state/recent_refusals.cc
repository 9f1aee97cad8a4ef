#include "scheduler/core/state/recent_refusals.h"

#include <algorithm>

#include "absl/time/time.h"

namespace muster::scheduler {

void RecentRefusals::Note(const JoinRequested& event, const v1::Refusal& refusal, MonotonicTime now) {
  const v1::Join& join = event.join;
  const std::string reason = v1::Refusal::Reason_Name(refusal.reason());
  uint32_t times = 1;
  const auto same = std::find_if(entries_.begin(), entries_.end(), [&](const Entry& entry) {
    return entry.job_id == join.job_id() && entry.refused.node_id() == join.node_id() &&
           entry.refused.address() == event.peer_address && entry.refused.host_name() == join.node().host_name() &&
           entry.refused.reason() == reason;
  });
  if (same != entries_.end()) {
    times += same->refused.times();
    entries_.erase(same);
  }
  Entry entry{join.job_id(), {}, now};
  entry.refused.set_node_id(join.node_id());
  entry.refused.set_host_name(join.node().host_name());
  entry.refused.set_address(event.peer_address);
  entry.refused.set_reason(reason);
  entry.refused.set_text(refusal.text());
  entry.refused.set_times(times);
  entries_.push_front(std::move(entry));
  if (entries_.size() > kMost) entries_.pop_back();
}

void RecentRefusals::AddTo(const std::string& job_id, MonotonicTime now, v1::MissingNodes& missing) const {
  for (const Entry& entry : entries_) {
    if (entry.job_id != job_id || missing.refused_size() == kMaxOfAJob) continue;
    v1::RefusedJoin& refused = *missing.add_refused();
    refused = entry.refused;
    refused.set_ago_ms(absl::ToInt64Milliseconds(now - entry.when));
  }
}

}  // namespace muster::scheduler
