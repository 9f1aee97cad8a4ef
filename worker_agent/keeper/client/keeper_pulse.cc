#include "worker_agent/keeper/client/keeper_pulse.h"

#include <algorithm>
#include <utility>

namespace muster::agent {

void KeeperPulse::MustEndBy(int64_t at_ms) {
  order_ms_ = std::min(order_ms_, at_ms);
  has_ping_since_order_ = false;
}

bool KeeperPulse::WantsPing(int64_t now_ms) {
  if (is_waiting_ || now_ms - pinged_ms_ < kStepMs) return false;
  is_waiting_ = true;
  has_ping_since_order_ = true;
  pinged_ms_ = looked_ms_ = now_ms;
  return true;
}

KeeperPulse::Finding KeeperPulse::Look(int64_t now_ms) {
  const int64_t step_ms = std::min(now_ms - std::exchange(looked_ms_, now_ms), kStepMs);
  if (!is_waiting_) return Finding::kNone;
  silent_ms_ += step_ms;
  const int64_t due_ms = std::min(fence_ms_, order_ms_);
  if (silent_ms_ >= kGiveUpMs && due_ms != kNever && now_ms >= due_ms + kGraceMs) return Finding::kGiveUp;
  if (silent_ms_ < kSilentMs || has_told_) return Finding::kNone;
  has_told_ = true;
  return Finding::kSilent;
}

bool KeeperPulse::Heard() {
  is_waiting_ = false;
  silent_ms_ = 0;
  if (has_ping_since_order_) order_ms_ = kNever;  // it came to the ping through the order
  return std::exchange(has_told_, false);
}

}  // namespace muster::agent
