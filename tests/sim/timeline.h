// The simulated clock: which actions happen at which time. Those of the same time keep the order in which they were
// planned.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <utility>
#include <vector>

#include "absl/time/time.h"
#include "common/base/clock.h"

namespace muster::sim {

class Timeline {
 public:
  using Action = std::function<void()>;

  Now now() const { return {now_, WallTime{kEpochMs + now_.nanoseconds() / 1'000'000}}; }
  MonotonicTime monotonic() const { return now_; }
  absl::Duration elapsed() const { return absl::Nanoseconds(now_.nanoseconds()); }

  // An action with a time in the past happens now.
  void At(MonotonicTime time, Action action) {
    if (time.is_never()) return;
    planned_.push_back({std::max(time, now_), ++last_number_, std::move(action)});
    std::push_heap(planned_.begin(), planned_.end(), Later);
  }
  void After(absl::Duration delay, Action action) { At(now_ + delay, std::move(action)); }

  // Runs the next action, if it comes before `end`; otherwise only sets the clock to `end`.
  bool Step(MonotonicTime end) {
    if (planned_.empty() || planned_.front().time >= end) {
      now_ = end;
      return false;
    }
    std::pop_heap(planned_.begin(), planned_.end(), Later);
    Planned next = std::move(planned_.back());
    planned_.pop_back();
    now_ = next.time;
    next.action();
    return true;
  }

 private:
  struct Planned {
    MonotonicTime time;
    uint64_t number = 0;
    Action action;
  };
  static bool Later(const Planned& a, const Planned& b) {
    return a.time != b.time ? a.time > b.time : a.number > b.number;
  }

  static constexpr int64_t kEpochMs = 1'800'000'000'000;
  MonotonicTime now_;
  uint64_t last_number_ = 0;
  std::vector<Planned> planned_;
};

}  // namespace muster::sim
