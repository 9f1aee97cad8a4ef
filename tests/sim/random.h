// Seeded numbers: equal seeds give equal sequences on every platform, unlike the distributions of <random>.
#pragma once

#include <cstdint>
#include <vector>

#include "absl/time/time.h"

namespace muster::sim {

class Random {
 public:
  explicit Random(uint64_t seed) : state_(seed) {}

  // splitmix64 (Steele, Lea, Flood 2014).
  uint64_t Next() {
    uint64_t z = (state_ += 0x9e3779b97f4a7c15);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
    z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
    return z ^ (z >> 31);
  }

  // From `low` to `high`, both included.
  int64_t Int(int64_t low, int64_t high) {
    return low + static_cast<int64_t>(Next() % static_cast<uint64_t>(high - low + 1));
  }
  double Fraction() { return static_cast<double>(Next() >> 11) * 0x1.0p-53; }
  bool Chance(double probability) { return Fraction() < probability; }
  absl::Duration Between(absl::Duration low, absl::Duration high) {
    const int64_t from = absl::ToInt64Nanoseconds(low);
    const int64_t to = absl::ToInt64Nanoseconds(high);
    return absl::Nanoseconds(from >= to ? from : Int(from, to));
  }
  absl::Duration UpTo(absl::Duration high) { return Between(absl::ZeroDuration(), high); }

  template <typename T>
  T& Pick(std::vector<T>& from) {
    return from[static_cast<size_t>(Int(0, static_cast<int64_t>(from.size()) - 1))];
  }

  // Returns an independent source, so that more draws in one place do not shift those in another.
  Random Fork() { return Random(Next()); }

 private:
  uint64_t state_;
};

}  // namespace muster::sim
