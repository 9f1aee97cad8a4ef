// The signals that the agent handles, as a readable descriptor.
//
// SIGINT, SIGTERM, SIGHUP and SIGQUIT end it, SIGUSR1 and SIGUSR2 go on to the processes. What was ignored when the
// agent was started (nohup, a shell's background job) stays so, except SIGTERM. SIGPIPE is ignored.
#pragma once

#include <sys/signalfd.h>

#include <optional>
#include <vector>

namespace muster::agent {

class Signals {
 public:
  // Blocks them in this thread and all that it starts later: call it before there are others.
  Signals();
  ~Signals();
  Signals(const Signals&) = delete;
  Signals& operator=(const Signals&) = delete;

  int fd() const { return fd_; }
  // The next one that has come, without waiting.
  std::optional<int> Take();
  // Takes all that have come, when no process runs any more. Whether one of them ends the agent.
  bool TakeEnd();

  static bool IsForwarded(int signal);

 private:
  int fd_ = -1;
};

}  // namespace muster::agent
