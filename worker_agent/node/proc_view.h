// Whether /proc shows all processes of this pid namespace, and which they are.
#pragma once

#include <sys/types.h>

#include <string>
#include <vector>

#include "absl/status/statusor.h"

namespace muster::agent {

// Every process, threads left out. Error: why /proc doesn't show all of them (it is missing, another pid namespace's,
// mounted with hidepid, or there is no descriptor to read it).
absl::StatusOr<std::vector<pid_t>> AllPids();

// Of the content of /proc/self/mountinfo: why a /proc that is mounted with hidepid hides processes from this user;
// empty: it hides none. `may_view_into_all`: this process has CAP_SYS_PTRACE.
std::string WhatProcHides(const std::string& mountinfo, bool may_view_into_all);

}  // namespace muster::agent
