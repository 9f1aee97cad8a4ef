// Marks every process that descends from one start of an agent: sets its hard limit RLIMIT_RTTIME to a random number.
//
// Every child inherits the limit over fork and exec, even if its environment, session, parent, user or namespaces
// change. Only a process with CAP_SYS_RESOURCE can raise it again. A process may lower it, but even then it differs
// from an unmarked process, which has no limit. /proc/<pid>/limits shows it to everybody. It does not disturb the
// process: it applies only to real-time scheduling, and 2^62 µs are 146,000 years. Sources: getrlimit(2), proc(5). For
// the reasons see docs/decisions/process-mark.md.
//
//   bits   62       61 … 23                       22 … 0
//          1        random, one for each start    all ones; random if the agent itself runs in a marked process
//
// An agent that runs in a marked process makes a nested start: its mark differs from that of the outer start only in
// the lower bits. So all processes of the outer start, nested ones included, share the upper bits.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <optional>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace muster::agent {

class ProcessMark {
 public:
  // Makes a new random mark that is below this process's own limit. The error says why this system, or the
  // process's own limit, allows no mark.
  static absl::StatusOr<ProcessMark> Make();
  // Returns the mark whose value() is `value` (the record of a node's lock keeps it). Nothing: no mark has this value.
  static std::optional<ProcessMark> Of(uint64_t value);

  uint64_t value() const { return value_; }

  // Marks the calling process and all processes that it starts later.
  absl::Status Set() const;

  // True if a process with this hard limit (in µs) belongs to this mark's start.
  bool Covers(uint64_t limit) const;
  // Returns true if the limit is below all marks: a marked process may have lowered its limit.
  static bool IsBelowMarks(uint64_t limit);

 private:
  explicit ProcessMark(uint64_t value) : value_(value) {}

  uint64_t value_;
};

// Returns the hard limit RLIMIT_RTTIME of a process, in µs; the highest number stands for "unlimited". NotFound: the
// process has ended. Any other error: the limit can't be read.
absl::StatusOr<uint64_t> RealTimeLimitOf(pid_t pid);

}  // namespace muster::agent
