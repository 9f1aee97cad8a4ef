// Threads that each do one thing and end. Private to worker_agent/session.
#pragma once

#include <atomic>
#include <functional>
#include <list>
#include <memory>
#include <thread>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "common/base/mutex.h"

namespace muster::agent {

class Workers {
 public:
  ~Workers() { LetGo(); }

  // Starts a thread that runs `work`. May be called from any thread. Also joins threads that have ended.
  // RESOURCE_EXHAUSTED: no thread can be started.
  absl::Status Start(std::function<void()> work);

  // Waits until all threads have ended. Returns false if they have not within `timeout`.
  bool WaitUntilIdle(absl::Duration timeout);

  // Joins the threads that have ended and detaches the others, since a name look-up can't be interrupted. So each
  // `work` must own what it works on.
  void LetGo();

 private:
  struct State {
    Mutex mutex;
    CondVar changed;
    size_t running ABSL_GUARDED_BY(mutex) = 0;
  };
  struct Worker {
    std::thread thread;
    std::shared_ptr<std::atomic<bool>> has_ended;
  };

  const std::shared_ptr<State> state_ = std::make_shared<State>();
  Mutex mutex_;
  std::list<Worker> workers_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace muster::agent
