// Reads the processes of this pid namespace from /proc.
#pragma once

#include <sys/types.h>

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "common/base/clock.h"

namespace muster::agent {

// ---- proc_view.cc: lists the processes, and checks that /proc shows them all.

// Returns all processes, without their threads. The error says why /proc doesn't show all of them: it is missing,
// belongs to another pid namespace, is mounted with hidepid, or there is no free descriptor to read it.
absl::StatusOr<std::vector<pid_t>> AllPids();

// Returns a text that says why /proc hides processes from this user: it is mounted with hidepid. Empty: it hides none.
// `mountinfo` is the content of /proc/self/mountinfo. `may_view_into_all`: this process has CAP_SYS_PTRACE.
std::string WhatProcHides(const std::string& mountinfo, bool may_view_into_all);

// ---- environ_search.cc: finds processes that have a text in their environment.
//
// To read /proc/<pid>/environ, the kernel reads that process's memory. This hangs if the process hangs in the kernel
// with its memory map locked, or waits for a file system that does not answer. So a child process does the reading. A
// child that hangs is killed, and another child goes on with the process after the one at which it hung.

enum class EnvironSight {
  kHasIt,
  kHasNot,
  kGone,     // the process has ended
  kEmpty,    // it has no environment: a kernel thread, or a process that is in the middle of exec, for example
  kRefused,  // this user may not read it
  kHangs,    // did not answer in time
  kNotSeen,  // the deadline came first, or no child process could be started
};

// Returns one answer for each of `pids`: whether `text` is in its environment. It forks a child to read, so call it
// while this is the only thread, and before secrets are read. Blocks until `deadline` at most; only for a moment if
// nothing hangs. Adds to `stuck` the children that hang in the kernel: they have got SIGKILL, but have not ended yet.
std::vector<EnvironSight> SearchEnvirons(const std::vector<pid_t>& pids, const std::string& text,
                                         MonotonicTime deadline, std::vector<pid_t>& stuck);

}  // namespace muster::agent
