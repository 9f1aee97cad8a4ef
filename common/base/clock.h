// Monotonic time and wall time, as two types. The program decides only by monotonic time; wall time is only shown.
//
// Only this file and clock.cc read the system's clocks; code that needs the time takes a Clock.
#pragma once

#include <compare>
#include <cstdint>
#include <limits>

#include "absl/time/time.h"

namespace muster {

// A point on the monotonic clock of this boot. It must never be sent to another machine or persisted.
class MonotonicTime {
 public:
  constexpr MonotonicTime() = default;
  static constexpr MonotonicTime FromNanoseconds(int64_t ns) { return MonotonicTime(ns); }
  static constexpr MonotonicTime Never() { return MonotonicTime(std::numeric_limits<int64_t>::max()); }

  constexpr int64_t nanoseconds() const { return ns_; }
  constexpr bool is_never() const { return ns_ == std::numeric_limits<int64_t>::max(); }
  auto operator<=>(const MonotonicTime&) const = default;

  // Saturates: Never() plus anything is Never(), and so is any time beyond the range. The sum can leave the range
  // because some durations come from peers.
  friend MonotonicTime operator+(MonotonicTime t, absl::Duration d) {
    if (t.is_never()) return Never();
    return MonotonicTime(absl::ToInt64Nanoseconds(absl::Nanoseconds(t.ns_) + d));
  }
  friend MonotonicTime operator-(MonotonicTime t, absl::Duration d) { return t + -d; }
  friend absl::Duration operator-(MonotonicTime a, MonotonicTime b) {
    if (a.is_never()) return absl::InfiniteDuration();
    return absl::Nanoseconds(a.ns_) - absl::Nanoseconds(b.ns_);
  }

 private:
  explicit constexpr MonotonicTime(int64_t ns) : ns_(ns) {}
  int64_t ns_ = 0;
};

// Milliseconds since 1970, for people.
struct WallTime {
  int64_t unix_ms = 0;
};

inline absl::Time ToAbslTime(WallTime wall) { return absl::FromUnixMillis(wall.unix_ms); }

// The time of both clocks, read together. Each event for a pure core (scheduler/core, worker_agent/core) has one.
struct Now {
  MonotonicTime monotonic;
  WallTime wall;
};

// Thread-safe.
class Clock {
 public:
  virtual ~Clock() = default;
  virtual Now Read() const = 0;

  // CLOCK_MONOTONIC and CLOCK_REALTIME of this machine.
  static const Clock& System();

  // As System(), with CLOCK_BOOTTIME in place of CLOCK_MONOTONIC: this clock also runs while the machine is suspended.
  // Use it for a time limit that another machine relies on, such as the fence. Never mix times of the two clocks.
  static const Clock& Boot();
};

}  // namespace muster
