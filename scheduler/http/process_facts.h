// What Prometheus' clients tell of their own process.
#pragma once

#include <cstdint>

namespace muster::http {

struct ProcessFacts {
  double cpu_seconds = 0;
  double start_unix_seconds = 0;
  uint64_t resident_bytes = 0;
  uint64_t open_descriptors = 0;
  uint64_t max_descriptors = 0;
  uint64_t threads = 0;
};

// Of this one. What can't be read is 0.
ProcessFacts ReadProcessFacts();

}  // namespace muster::http
