// The times of the fence, which scheduler, agent and keeper share.
//
//   last answered heartbeat                                                              ranks start elsewhere
//   |-- no scheduler answers: processes run --|-- fence_stop_timeout --|-- kFenceMargin --|
//   |------------------------------------ fence_timeout ---------------------------------|
#pragma once

#include <algorithm>
#include <optional>

#include "absl/time/time.h"

namespace muster {

// The time between the fence's SIGKILL and the moment from which the ranks may start elsewhere.
inline constexpr absl::Duration kFenceMargin = absl::Seconds(5);
// Processes with an armed fence run for so long while no scheduler answers, without --fence_timeout.
inline constexpr absl::Duration kDefaultAbsence = absl::Seconds(50);

// Returns how long the processes have to end when the fence falls. `value`: --fence_stop_timeout.
inline absl::Duration FenceStopTimeout(std::optional<absl::Duration> value, absl::Duration stop_timeout) {
  return value.value_or(std::min(absl::Seconds(5), stop_timeout));
}

// Returns the fence's time without --fence_timeout, once a spare stands by: the processes run on while the scheduler is
// away for kDefaultAbsence, or five heartbeats are late. `stop_time`: FenceStopTimeout.
inline absl::Duration SpareFence(absl::Duration stop_time, absl::Duration heartbeat) {
  return std::max(kDefaultAbsence, 5 * heartbeat) + stop_time + kFenceMargin;
}

}  // namespace muster
