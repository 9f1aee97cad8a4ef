// Random-looking numbers from a seed, so that equal incarnations give equal effects (SplitMix64 by Sebastiano Vigna).
#pragma once

#include <cstdint>

#include "absl/time/time.h"

namespace muster::agent {

class Jitter {
 public:
  explicit Jitter(uint64_t seed) : state_(seed) {}

  // A factor from `low` up to `high`.
  double Factor(double low, double high) {
    return low + (high - low) * (static_cast<double>(Next() >> 11) / 9007199254740992.0);
  }

  absl::Duration Around(absl::Duration duration, double spread) { return duration * Factor(1 - spread, 1 + spread); }

 private:
  uint64_t Next() {
    uint64_t z = (state_ += 0x9E3779B97F4A7C15u);
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
    return z ^ (z >> 31);
  }

  uint64_t state_;
};

}  // namespace muster::agent
