// What the kernel says a server process has used.
#pragma once

#include <cstdint>

namespace muster::bench {

struct ServerUsage {
  double cpu_seconds = 0;  // user and system
  double peak_rss_mb = 0;
};

// All zero when nothing is known of such a process.
ServerUsage ReadServerUsage(uint32_t pid);

}  // namespace muster::bench
