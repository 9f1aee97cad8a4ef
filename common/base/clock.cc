#include "common/base/clock.h"

#include <ctime>

namespace muster {
namespace {

int64_t ReadNanoseconds(clockid_t id) {
  timespec ts{};
  clock_gettime(id, &ts);
  return int64_t{ts.tv_sec} * 1'000'000'000 + ts.tv_nsec;
}

class SystemClock final : public Clock {
 public:
  explicit SystemClock(clockid_t monotonic) : monotonic_(monotonic) {}
  Now Read() const override {
    return {MonotonicTime::FromNanoseconds(ReadNanoseconds(monotonic_)),
            WallTime{ReadNanoseconds(CLOCK_REALTIME) / 1'000'000}};
  }

 private:
  const clockid_t monotonic_;
};

}  // namespace

const Clock& Clock::System() {
  static const SystemClock clock(CLOCK_MONOTONIC);
  return clock;
}

const Clock& Clock::Boot() {
  static const SystemClock clock(CLOCK_BOOTTIME);
  return clock;
}

}  // namespace muster
