// The reports of a shim to the keeper. Each is one packet on the socket between them.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "common/base/clock.h"

namespace muster::agent {

// A shim sends kStarted or kNotStarted first, and kEnded later. The other kinds may come at any time.
struct ShimReport {
  enum Kind : int32_t {
    kStarted,     // `value`: the process's pid
    kNotStarted,  // `value`: the exit code; `text`, `reason` and `remedy` as of a LaunchError
    kEnded,       // `value`: the wait status
    kWaits,   // the process has ended with 0; `value`: how many background jobs the shim waits for, `text`: their names
    kLeaves,  // the process has ended with 0, and the shim kills what it left; `value`: how many background jobs,
              // `text`: all names
    kJobFailed,  // a background job has failed; `text`: which, and how. kEnded follows with its status
    kKilling,    // the shim has taken the order to kill
    kCantLook,   // the shim can't read /proc, so it can't see what is left, or can't kill it; each of the two is sent
                 // once; `text`: why
  };
  Kind kind = kStarted;
  int32_t value = 0;
  MonotonicTime at;          // of Clock::Boot
  bool was_stopped = false;  // in kEnded: the shim had an order to stop or kill before the end
  char text[1024] = {};
  char reason[64] = {};
  char remedy[512] = {};
};

ShimReport MakeShimReport(ShimReport::Kind kind, int32_t value, std::string_view text, std::string_view reason = {},
                          std::string_view remedy = {});

// Sends a report. Waits for room in the socket only for kStarted, kNotStarted and kEnded, which the keeper must not
// miss.
void SendShimReport(int socket, const ShimReport& report);

// Returns the reports that have come over `socket` since the last call. `is_open`: false when nothing more will come.
std::vector<ShimReport> ReadShimReports(int socket, bool& is_open);

}  // namespace muster::agent
