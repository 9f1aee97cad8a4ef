// Finds out whether the kernel killed a process because memory ran out. For one thread; never waits.
//
// The kernel counts the killed processes of each control group. With cgroup version 2, a group's count includes the
// groups below it (oom_kill in memory.events, whichever limit was reached, even the machine's memory). With version 1,
// it is for the group alone (memory.oom_control). A process is judged only by kills that were counted while it ran, and
// each kill explains one end only. Where nothing is counted, the kernel's log may name the killed process (/dev/kmsg,
// if this user may read it).
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
    std::optional<uint64_t> kills;  // none: the count can't be read
    uint64_t blamed = 0;
    uint64_t us = 0;  // by the monotonic clock, which the kernel's log uses, too
  };

  // `groups`: the content of /proc/self/cgroup. `root`: the folder to read in place of /sys/fs/cgroup. `kernel_log`:
  // the file to read in place of /dev/kmsg; empty where that has other pids than this process sees. If the group's
  // folder does not exist (a container may see its own group as the root), reads the nearest group above it.
  MemoryWatch(const std::string& groups, const std::string& root, std::string kernel_log = "");
  static MemoryWatch OfThisProcess();

  Mark Now() const;
  // Returns whether the kernel killed a process that ended by itself with `exit`. If the process failed with an exit
  // code, and a counted kill explains no other end, then the kernel has killed a process that it had started; that
  // counts, too.
  MemoryEnd Judge(const Mark& start, const ExitStatus& exit, int64_t pid);

 private:
  std::optional<uint64_t> Kills() const;
  MemoryEnd Limits() const;
  bool IsInKernelLog(int64_t pid, uint64_t since_us) const;

  bool is_v2_ = false;
  std::string root_;  // the folder that contains the groups; empty: there is none
  std::string path_;  // our group's path below root_, "" or "/job/step"
  std::string kernel_log_;
  uint64_t blamed_ = 0;  // how many kills have explained an end so far
};

}  // namespace muster::agent
