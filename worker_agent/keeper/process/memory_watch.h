// Finds out from the control group's counts if the kernel killed a process for want of memory. One thread; never waits.
//
// Version 2 counts the killed processes of a group and of those below it (memory.events: oom_kill, for any limit that
// was reached, the machine's included), version 1 those of the group itself (memory.oom_control). An old kill is not
// blamed for a new end: each process is judged by the kills counted while it ran, and each kill is blamed for one end.
// Where nothing is counted, the kernel's log may name the killed process (/dev/kmsg, if this user may read it).
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "common/base/exit_status.h"
#include "worker_agent/core/process_end.h"

namespace muster::agent {

class MemoryWatch {
 public:
  // The counts when a process started.
  struct Mark {
    std::optional<uint64_t> kills;  // none: can't look
    uint64_t blamed = 0;
    uint64_t us = 0;  // of the monotonic clock, which the kernel's log has, too
  };

  // `groups` is the content of /proc/self/cgroup, `root` stands for /sys/fs/cgroup, `kernel_log` for /dev/kmsg, empty
  // where it has other process ids than we. Where the group's folder is not there, as in a container that is shown its
  // own group as the root, the nearest one above it is the group.
  MemoryWatch(const std::string& groups, const std::string& root, std::string kernel_log = "");
  static MemoryWatch OfThisProcess();

  Mark Now() const;
  // Judges a process that ended by itself. With an exit code it counts as well, when a kill has no other end to be
  // blamed for: then the killed one was a process that it had started.
  MemoryEnd Judge(const Mark& start, const ExitStatus& exit, int64_t pid);

 private:
  std::optional<uint64_t> Kills() const;
  MemoryEnd Limits() const;
  bool IsInKernelLog(int64_t pid, uint64_t since_us) const;

  bool is_v2_ = false;
  std::string root_;  // under which the groups stand; empty: there is none
  std::string path_;  // our group's below it, "" or "/job/step"
  std::string kernel_log_;
  uint64_t blamed_ = 0;  // kills that were blamed for an end
};

}  // namespace muster::agent
