// The signals that the agent handles, as a readable descriptor.
//
// SIGINT, SIGTERM, SIGHUP and SIGQUIT end it, SIGUSR1 and SIGUSR2 are passed on to the processes. Signals that were
// ignored when the agent was started (nohup, a shell's background job) stay ignored, except SIGTERM. SIGPIPE is
// ignored.
#pragma once

#include <optional>

#include "common/sys/signal_pipe.h"

namespace muster::agent {

class Signals {
 public:
  Signals();

  int fd() const { return pipe_.fd(); }
  // Returns the next signal that has come, without waiting; nothing: none has.
  std::optional<int> Take() { return pipe_.Take(); }
  // Takes all signals that have come; for the time when no process runs any more. Returns true if one of them ends the
  // agent.
  bool TakeEnd();

  // Takes signals that came before the job has begun. If one of them ends the agent, logs that and returns the exit
  // code.
  std::optional<int> TakeEndBeforeJob();

  static bool IsForwarded(int signal);

 private:
  SignalPipe pipe_;
};

}  // namespace muster::agent
