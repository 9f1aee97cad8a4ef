#include "worker_agent/session/workers.h"

#include <utility>

#include "common/clock.h"

namespace muster::agent {

void Workers::Start(std::function<void()> work) {
  {
    MutexLock lock(state_->mutex);
    ++state_->running;
  }
  const auto has_ended = std::make_shared<std::atomic<bool>>(false);
  MutexLock lock(mutex_);
  std::erase_if(workers_, [](Worker& worker) {
    if (!worker.has_ended->load()) return false;
    worker.thread.join();
    return true;
  });
  workers_.push_back({std::thread([state = state_, has_ended, work = std::move(work)]() mutable {
                        work();
                        work = nullptr;  // what it kept alive goes before we say that it has ended
                        has_ended->store(true);
                        MutexLock state_lock(state->mutex);
                        --state->running;
                        state->changed.NotifyAll();
                      }),
                      has_ended});
}

bool Workers::WaitUntilIdle(absl::Duration timeout) {
  const MonotonicTime deadline = Clock::System().Read().monotonic + timeout;
  MutexLock lock(state_->mutex);
  while (state_->running > 0) {
    const absl::Duration left = deadline - Clock::System().Read().monotonic;
    if (left <= absl::ZeroDuration()) return false;
    state_->changed.WaitFor(state_->mutex, left);
  }
  return true;
}

void Workers::LetGo() {
  MutexLock lock(mutex_);
  for (Worker& worker : workers_) {
    if (worker.has_ended->load()) {
      worker.thread.join();
    } else {
      worker.thread.detach();
    }
  }
  workers_.clear();
}

}  // namespace muster::agent
