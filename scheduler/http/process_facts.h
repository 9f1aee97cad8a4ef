// The process metrics that Prometheus' client libraries publish.
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
  // Reads those of this process. A value that can't be read is 0. Counts descriptors at most once in ten seconds.
  ProcessFacts Read(MonotonicTime now);

 private:
  std::optional<MonotonicTime> counted_at_;
  uint64_t open_descriptors_ = 0;
};

}  // namespace muster::http
