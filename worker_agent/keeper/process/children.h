// The direct children of the calling process, and how to end all its descendants. Keeper, shim and guardian use it:
// they have one thread, and are child subreapers. When a process below them loses its parent, it becomes their child;
// so killing the children again and again ends all descendants. Allocates no memory.
//
// Reads /proc/self/task/<tid>/children, which it keeps open from the start: so a process that has no free descriptor
// can still look. For a process with one thread the list is exact: a child leaves it only when that thread reaps it. On
// a kernel without this file (CONFIG_PROC_CHILDREN) it searches all of /proc, with descriptors that it keeps open for
// this.
//
// An empty list does not prove that all children have ended. Only waitid proves that, when it fails with ECHILD.
#pragma once

#include <sys/types.h>

#include "absl/functional/function_ref.h"
#include "common/base/unique_fd.h"

namespace muster::agent {

// Pauses between two looks at killed processes: 5 ms at first, then twice as long each time, at most 200 ms.
inline constexpr int kFirstPauseMs = 5;
inline constexpr int kMaxPauseMs = 200;

class Children {
 public:
  // Returns the children of the calling process; must be called after the fork. `may_use_list`: false makes it search
  // /proc even if the kernel has the list (for tests).
  static Children OfThisProcess(bool may_use_list = true);

  // Returns true if /proc is mounted and shows this process, so that ForEach can work.
  bool CanLook() const { return list_.is_open() || proc_.is_open(); }

  // Calls `visit` for each child, also for dead ones that are not reaped. `visit` must not reap a child. Returns false
  // if it could not look at all children; errno says why.
  bool ForEach(absl::FunctionRef<void(pid_t)> visit);

  // Sends SIGKILL to each child for which `is_spared` returns false. The pid can't mean another process meanwhile,
  // because only the caller reaps. Returns false if it could not look at all children.
  bool Kill(absl::FunctionRef<bool(pid_t)> is_spared);

 private:
  bool ForEachInList(absl::FunctionRef<void(pid_t)> visit);
  bool ForEachInProc(absl::FunctionRef<void(pid_t)> visit);
  // Returns the parent of a process; 0: the process has ended, or is another user's; -1: it can't be looked at.
  pid_t ParentOf(const char* pid);

  bool may_use_list_ = true;
  UniqueFd list_;
  UniqueFd proc_;
  UniqueFd spare_;  // closed for a moment to look at a process when no other descriptor is free
};

}  // namespace muster::agent
