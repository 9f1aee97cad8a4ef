// What Prometheus' clients tell of their own process.
#pragma once

#include <cstdint>
#include <optional>

#include "common/base/clock.h"

namespace muster::http {

struct ProcessFacts {
  double cpu_seconds = 0;
  double start_unix_seconds = 0;
  uint64_t resident_bytes = 0;
  uint64_t open_descriptors = 0;
  uint64_t max_descriptors = 0;
  uint64_t threads = 0;
};

class ProcessReader {
 public:
  // Of this one. What can't be read is 0. Descriptors are counted at most once in ten seconds.
  ProcessFacts Read(MonotonicTime now);

 private:
  std::optional<MonotonicTime> counted_at_;
  uint64_t open_descriptors_ = 0;
};

}  // namespace muster::http
