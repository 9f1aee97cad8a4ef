// Time limits for tests of the network.
#pragma once

#include <chrono>

#include "common/base/clock.h"

namespace muster {

inline constexpr auto kPatience = std::chrono::seconds(20);  // for things that come at once, unless the machine is busy

inline MonotonicTime At(double seconds) { return MonotonicTime() + absl::Seconds(seconds); }

}  // namespace muster
