// Times of the tests of what the network says.
#pragma once

#include <chrono>

#include "common/base/clock.h"

namespace muster {

inline constexpr auto kPatience = std::chrono::seconds(20);  // for what comes at once, unless the machine is busy

inline MonotonicTime At(double seconds) { return MonotonicTime() + absl::Seconds(seconds); }

}  // namespace muster
