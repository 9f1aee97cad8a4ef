// The facts about this process that Prometheus' client libraries also publish, such as its memory and its threads.
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
  // Reads the facts of this process from the kernel. A value that can't be read is 0. Counts the open descriptors at
  // most once in ten seconds, because counting many takes long; in between, returns the last count.
  ProcessFacts Read(MonotonicTime now);

 private:
  std::optional<MonotonicTime> counted_at_;
  uint64_t open_descriptors_ = 0;
};

}  // namespace muster::http
