// A mark on every process that descends from a start of an agent: the hard limit RLIMIT_RTTIME, set to a random number.
// Every child inherits it over fork and exec, even if environment, session, parent, user or namespaces change. Only
// CAP_SYS_RESOURCE raises it again. A process may lower it, but then it is no longer unlimited, as that of an unmarked
// process is. /proc/<pid>/limits shows it to everybody. The limit concerns real-time scheduling only, and 2^62 µs are
// 146,000 years. Sources: getrlimit(2), proc(5). For the reasons see docs/decisions/process-mark.md.
//
//   bits   62       61 … 23             22 … 0
//          1        the start           all ones; for an agent that itself runs in a marked process: its own start
//
// A nested start only lowers the limit within the outer start's numbers, so the outer start's processes, the nested
// ones included, still share the upper bits.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <optional>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace muster::agent {

class ProcessMark {
 public:
  // Makes a new random mark below this process's own limit. Error: why this system, or this limit, allows none.
  static absl::StatusOr<ProcessMark> Make();
  // Returns the mark with that value(), as a lock's record keeps it; nothing if it is none.
  static std::optional<ProcessMark> Of(uint64_t value);

  uint64_t value() const { return value_; }

  // Marks the calling process and all that it will start.
  absl::Status Set() const;

  // True if a process with this hard limit (in µs) belongs to this mark's start.
  bool Covers(uint64_t limit) const;
  // True if the limit is below all marks: a process that had one may have lowered it.
  static bool IsBelowMarks(uint64_t limit);

 private:
  explicit ProcessMark(uint64_t value) : value_(value) {}

  uint64_t value_;
};

// The hard limit RLIMIT_RTTIME of a process, in µs; the highest number for "unlimited". NotFound: there is no such
// process any more. Any other error: the limit can't be read.
absl::StatusOr<uint64_t> RealTimeLimitOf(pid_t pid);

}  // namespace muster::agent
