// The direct children of the calling process, and how to end all its descendants. For processes with one thread that
// are child subreapers (keeper, shim, guardian): a process below them that loses its parent becomes their child, so
// ending the children again and again ends all. Allocates nothing.
//
// Reads /proc/self/task/<tid>/children, which is held open from the start: a process that is out of descriptors can
// still look. The list is exact for a process with one thread: a child leaves it only when that thread reaps it. A
// kernel without that file (CONFIG_PROC_CHILDREN) has all of /proc searched, by descriptors that are held for it.
//
// Only the kernel's word counts for the end of all of them, not a list: waitid fails with ECHILD.
#pragma once

#include <sys/types.h>

#include "absl/functional/function_ref.h"
#include "common/base/unique_fd.h"

namespace muster::agent {

// Pauses between two looks whether killed processes are gone: 5 ms, then twice as long each time, at most 200 ms.
inline constexpr int kFirstPauseMs = 5;
inline constexpr int kMaxPauseMs = 200;

class Children {
 public:
  // Returns the children of the calling process; call it after the fork. `may_use_list`: false searches /proc in any
  // case (for tests).
  static Children OfThisProcess(bool may_use_list = true);

  // True if anything can be read: /proc is mounted, and shows this process.
  bool CanLook() const { return list_.is_open() || proc_.is_open(); }

  // Calls `visit` for each child, also for those that are dead and not reaped; no child may be reaped meanwhile. False:
  // it could not look, or not at all of them (errno says why).
  bool ForEach(absl::FunctionRef<void(pid_t)> visit);

  // SIGKILL to each child for which `is_spared` is false. A pid can't mean another process
  // meanwhile, because only the caller reaps. False: it could not look.
  bool Kill(absl::FunctionRef<bool(pid_t)> is_spared);

 private:
  bool ForEachInList(absl::FunctionRef<void(pid_t)> visit);
  bool ForEachInProc(absl::FunctionRef<void(pid_t)> visit);
  // The parent of a process; 0: it is gone, or another user's; -1: can't look.
  pid_t ParentOf(const char* pid);

  bool may_use_list_ = true;
  UniqueFd list_;
  UniqueFd proc_;
  UniqueFd spare_;  // closed for the moment in which a process is looked at, where no other descriptor can be had
};

}  // namespace muster::agent
