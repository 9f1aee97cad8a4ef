#include "common/clock.h"

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
  Now Read() const override {
    return {MonotonicTime::FromNanoseconds(ReadNanoseconds(CLOCK_MONOTONIC)),
            WallTime{ReadNanoseconds(CLOCK_REALTIME) / 1'000'000}};
  }
};

}  // namespace

const Clock& Clock::System() {
  static const SystemClock clock;
  return clock;
}

}  // namespace muster
