#include "worker_agent/keeper/client/keeper_pulse.h"

#include <algorithm>
#include <utility>

namespace muster::agent {

void KeeperPulse::MustEndBy(MonotonicTime at) {
  order_at_ = std::min(order_at_, at);
  has_ping_since_order_ = false;
}

bool KeeperPulse::WantsPing(MonotonicTime now) {
  if (is_waiting_ || now - pinged_at_ < kStep) return false;
  is_waiting_ = true;
  has_ping_since_order_ = true;
  pinged_at_ = looked_at_ = now;
  return true;
}

KeeperPulse::Finding KeeperPulse::Look(MonotonicTime now) {
  const absl::Duration step = std::min(now - std::exchange(looked_at_, now), kStep);
  if (!is_waiting_) return Finding::kNone;
  silent_ += step;
  const MonotonicTime due = std::min(fence_at_, order_at_);
  if (silent_ >= kGiveUp && !due.is_never() && now >= due + kGrace) return Finding::kGiveUp;
  if (silent_ < kSilent || has_reported_) return Finding::kNone;
  has_reported_ = true;
  return Finding::kSilent;
}

bool KeeperPulse::Heard() {
  is_waiting_ = false;
  silent_ = absl::ZeroDuration();
  // The keeper takes messages in sequence: before the ping it took the order.
  if (has_ping_since_order_) order_at_ = MonotonicTime::Never();
  return std::exchange(has_reported_, false);
}

}  // namespace muster::agent
