#include "worker_agent/keeper/clock_jumps.h"

#include <sys/timerfd.h>
#include <unistd.h>

#include <cstdint>
#include <limits>
#include <utility>

#include "common/base/clock.h"

namespace muster::agent {
namespace {

absl::Duration OffsetNow() {
  const Now now = Clock::Boot().Read();
  return absl::Milliseconds(now.wall.unix_ms) - (now.monotonic - MonotonicTime());
}

}  // namespace

ClockJumps::ClockJumps() : timer_(::timerfd_create(CLOCK_REALTIME, TFD_CLOEXEC | TFD_NONBLOCK)), offset_(OffsetNow()) {
  Arm();
}

// Arms a timer that never expires. The kernel cancels it when somebody sets the clock; then the descriptor is readable.
void ClockJumps::Arm() {
  itimerspec never{};
  never.it_value.tv_sec = std::numeric_limits<int64_t>::max() / 1'000'000'000;  // the kernel counts in nanoseconds
  // ECANCELED: the clock was set at this moment. The timer is armed nevertheless, and its descriptor is readable.
  [[maybe_unused]] const int armed =
      ::timerfd_settime(timer_.get(), TFD_TIMER_ABSTIME | TFD_TIMER_CANCEL_ON_SET, &never, nullptr);
}

absl::Duration ClockJumps::Take() {
  uint64_t count = 0;
  [[maybe_unused]] const ssize_t n = ::read(timer_.get(), &count, sizeof count);  // fails with ECANCELED after a jump
  Arm();
  const absl::Duration before = std::exchange(offset_, OffsetNow());
  return offset_ - before;
}

}  // namespace muster::agent
