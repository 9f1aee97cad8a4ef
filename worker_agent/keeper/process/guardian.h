// The guardian: the keeper's parent, which watches over the keeper and the fence. It forks the keeper, and after that
// neither forks nor allocates memory. It only waits and, when it must, ends everything below it.
//
//   what happens                                        what the guardian does
//   the keeper ends as planned                          ends, too
//   the keeper dies                                     gives the shims kShimsTime, kills what is left, then ends
//   the agent dies                                      nothing: the keeper ends all processes and reports that
//   the agent is dead, and the keeper stands still      kills the keeper and everything else, after kHung
//   the fence fell and the keeper has not obeyed        kills the keeper and everything else (fence_page.h)
//   the guardian itself dies                            the keeper ends everything: nothing trains unguarded
//
// Guardian, keeper and shims get SIGCONT when their parent dies. So one that somebody has stopped (SIGSTOP) wakes up,
// and does what this table or its own header says.
//
// The guardian is a child subreaper, as the agent above it and the keeper below it are. So a process that loses its
// parent stays a descendant of the nearest of the three that lives. The guardian holds the node's lock until no process
// below it is left.
#pragma once

#include <sys/types.h>

#include <csignal>

#include "common/base/unique_fd.h"
#include "worker_agent/keeper/process/agent_watch.h"
#include "worker_agent/keeper/process/fence_page.h"

namespace muster::agent {

// The signal that guardian, keeper and shims get when their parent dies. They block all signals, but SIGCONT wakes a
// stopped process even if it is blocked.
inline constexpr int kParentDied = SIGCONT;

struct GuardianOptions {
  pid_t agent = 0;
  bool isolates_pids = false;
  AgentWatch& watch;  // watches the agent
  FencePage& page;
};

// The guardian's report to the agent after its start. `keeper`: the keeper's pid; 0: it could not be started, and
// `error` is the errno.
struct GuardianReport {
  pid_t keeper = 0;
  int error = 0;
  char why[200] = {};       // why the pid namespace could not be made; empty: no error there
  bool is_guarded = false;  // false: /proc can't be read, so the guardian could not kill anything
};

// Runs the guardian in the process that was just forked. Returns only in the keeper, which it forks, with a watch of
// the guardian. All signals must be blocked. `socket` leads to the agent: it takes the GuardianReport, and the node's
// lock may come over it later, with one byte.
AgentWatch BecomeGuardian(const GuardianOptions& options, UniqueFd socket);

}  // namespace muster::agent
