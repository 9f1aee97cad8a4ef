// The reports of a shim to the keeper, one message of its socket for each.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "common/base/clock.h"

namespace muster::agent {

// First kStarted or kNotStarted, then kEnded; the others at any time.
struct ShimReport {
  enum Kind : int32_t {
    kStarted,     // `value`: the process's pid
    kNotStarted,  // `value`: the exit code; `text`, `reason` and `remedy` as of a LaunchError
    kEnded,       // `value`: the wait status
    kWaits,       // it has ended with 0; `value`: how many in its background are waited for, `text`: their names
    kLeaves,      // it has ended with 0, and what it left is ended; `value`: how many in its background, `text`: names
    kJobFailed,   // one that was waited for; `text`: which, and how. kEnded has its status
    kKilling,     // it has taken the order to kill
    kCantLook,    // it can't see what is left (once), or can't kill it for that reason (once more); `text`: why
  };
  Kind kind = kStarted;
  int32_t value = 0;
  MonotonicTime at;          // of Clock::Boot
  bool was_stopped = false;  // of kEnded: it had an order to stop, or to kill, before
  char text[1024] = {};
  char reason[64] = {};
  char remedy[512] = {};
};

ShimReport MakeShimReport(ShimReport::Kind kind, int32_t value, std::string_view text, std::string_view reason = {},
                          std::string_view remedy = {});

// Waits for room only where the keeper must not miss the report: kStarted, kNotStarted and kEnded.
void SendShimReport(int socket, const ShimReport& report);

// Returns the reports that have come over `socket` since the last call. `is_open`: false when nothing more will come.
std::vector<ShimReport> ReadShimReports(int socket, bool& is_open);

}  // namespace muster::agent
