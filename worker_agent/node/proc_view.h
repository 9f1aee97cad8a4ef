// The view that /proc gives of the processes of this pid namespace.
#pragma once

#include <sys/types.h>

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "common/base/clock.h"

namespace muster::agent {

// ---- proc_view.cc: the check that it shows all of them, and their list.

// Returns every process, threads left out. Error: why /proc doesn't show all of them (it is missing, another pid
// namespace's, mounted with hidepid, or there is no descriptor to read it).
absl::StatusOr<std::vector<pid_t>> AllPids();

// Returns, from the content of /proc/self/mountinfo, why a /proc that is mounted with hidepid hides processes from this
// user; empty: it hides none. `may_view_into_all`: this process has CAP_SYS_PTRACE.
std::string WhatProcHides(const std::string& mountinfo, bool may_view_into_all);

// ---- environ_search.cc: those of them that have a text in their environment.
//
// /proc/<pid>/environ is read out of the process's memory, which hangs for as long as that process hangs in the kernel
// with its memory map locked, or waits for a file system that has gone away. So a child process reads; one that hangs
// is killed and left behind, and the next one goes on after that place.

enum class EnvironSight {
  kHasIt,
  kHasNot,
  kGone,     // the process has ended
  kEmpty,    // a kernel thread, one that is just being executed, or one without an environment
  kRefused,  // may not be read
  kHangs,    // did not answer in time
  kNotSeen,  // no time or no process was left to look
};

// Returns one answer for each of `pids`. A process of this call's own, forked from this one, reads: so to be called
// while this is the only thread and before secrets are read. Only children that hang in the kernel may be left (`stuck`
// gets them, killed). Blocks: to `deadline` at most, and a moment where nothing hangs.
std::vector<EnvironSight> SearchEnvirons(const std::vector<pid_t>& pids, const std::string& text,
                                         MonotonicTime deadline, std::vector<pid_t>& stuck);

}  // namespace muster::agent
