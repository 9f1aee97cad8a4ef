// A clock that stands still until a test moves it.
#pragma once

#include "common/base/clock.h"

namespace muster {

class ManualClock final : public Clock {
 public:
  Now Read() const override { return now; }
  void Advance(absl::Duration by) { now.monotonic = now.monotonic + by; }
  Now now = {MonotonicTime::FromNanoseconds(1'000'000'000), {}};
};

}  // namespace muster
