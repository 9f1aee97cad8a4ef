// Reads from the kernel what a server process has used.
#pragma once

#include <cstdint>

namespace muster::bench {

struct ServerUsage {
  double cpu_seconds = 0;  // user and system time
  double peak_rss_mb = 0;
};

// All zero if there is no such process.
ServerUsage ReadServerUsage(uint32_t pid);

}  // namespace muster::bench
