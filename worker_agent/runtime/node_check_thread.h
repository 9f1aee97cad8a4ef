// Runs the node check (preflight/node_check.h) again, in a thread, so that the agent's loop goes on meanwhile.
#pragma once

#include <functional>
#include <thread>
#include <utility>

#include "absl/status/status.h"
#include "common/base/clock.h"
#include "common/net/waker.h"
#include "worker_agent/preflight/node_check.h"

namespace muster::agent {

// One thread owns this.
class NodeCheckThread {
 public:
  NodeCheckThread(NodeCheck check, const Clock& clock) : check_(std::move(check)), clock_(clock) {}
  ~NodeCheckThread() { Abandon(); }
  NodeCheckThread(const NodeCheckThread&) = delete;
  NodeCheckThread& operator=(const NodeCheckThread&) = delete;

  // Begins to run the check; cuts short an earlier one. `deliver` gets the status of a check that was not cut short,
  // once, in the thread, or at once if no thread can be made.
  void Start(std::function<void(absl::Status)> deliver);

  // Kills a check that runs, and waits for its end: at most about half a second.
  void Abandon();

 private:
  const NodeCheck check_;
  const Clock& clock_;
  const Waker cancel_;
  std::thread thread_;
};

}  // namespace muster::agent
