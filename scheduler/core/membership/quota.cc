#include "scheduler/core/membership/quota.h"

#include <algorithm>

#include "common/base/check.h"

namespace muster::scheduler {
size_t Quota::HeldBy(const std::string& party) const {
  const auto held = held_.find(party);
  return held == held_.end() ? 0 : held->second;
}

bool Quota::HasRoomFor(const std::string& party) const {
  const size_t left = most_ - std::min(most_, taken_);
  return left > most_ / 8 || HeldBy(party) < left;
}

void Quota::Take(const std::string& party) {
  ++held_[party];
  ++taken_;
}

void Quota::Return(const std::string& party) {
  const auto held = held_.find(party);
  MUSTER_CHECK(held != held_.end(), "a party gives back a place that it doesn't hold");
  if (--held->second == 0) held_.erase(held);
  --taken_;
}

}  // namespace muster::scheduler
