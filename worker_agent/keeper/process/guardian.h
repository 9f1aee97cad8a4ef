// The guardian: the keeper's parent, and a second pair of eyes. It forks the keeper and after that neither forks nor
// allocates; all it does is to wait and, when it must, to end everything below it.
//
//   what happens                                        what it does
//   the keeper ends in order                            ends, too
//   the keeper dies                                     leaves the shims a moment, ends what is left, then itself
//   the agent dies                                      leaves it to the keeper, which ends all and reports …
//   … and the keeper stands still for kHung             ends the keeper and everything else
//   the fence fell and the keeper has not obeyed        the same (fence_page.h)
//   the guardian itself dies                            the keeper ends everything: nothing trains unguarded
//
// Guardian, keeper and shims get SIGCONT when their parent dies: one that was stopped from outside wakes then, and does
// what is said here.
//
// The guardian is a child subreaper, like the agent above and the keeper below it: a process that loses its parent
// stays in reach of any of the three that is left. It holds the node's lock until nothing is left.
#pragma once

#include <sys/types.h>

#include <csignal>

#include "common/base/unique_fd.h"
#include "worker_agent/keeper/process/agent_watch.h"
#include "worker_agent/keeper/process/fence_page.h"

namespace muster::agent {

// The signal that guardian, keeper and shims get when their parent dies. It is blocked, as all signals are, but still
// wakes a stopped process.
inline constexpr int kParentDied = SIGCONT;

struct GuardianOptions {
  pid_t agent = 0;
  bool isolates_pids = false;
  AgentWatch& watch;  // of the agent
  FencePage& page;
};

// The guardian's report to the agent of its start: `keeper` is its pid, or 0 and `error` an errno.
struct GuardianReport {
  pid_t keeper = 0;
  int error = 0;
  char why[200] = {};       // why there can be no pid namespace; empty: that did not fail
  bool is_guarded = false;  // false: /proc can't be looked at, so it could not end anything
};

// Runs the freshly forked guardian. Returns only in the keeper that it has forked, with a watch of the guardian. All
// signals must be blocked. `socket`: to the agent, for the GuardianReport, and for the node's lock, which may come with
// a byte later.
AgentWatch BecomeGuardian(const GuardianOptions& options, UniqueFd socket);

}  // namespace muster::agent
