#include "worker_agent/session/workers.h"

#include <utility>

#include "common/base/clock.h"
#include "common/sys/threads.h"

namespace muster::agent {

absl::Status Workers::Start(std::function<void()> work) {
  const auto has_ended = std::make_shared<std::atomic<bool>>(false);
  MutexLock lock(mutex_);
  std::erase_if(workers_, [](Worker& worker) {
    if (!worker.has_ended->load()) return false;
    worker.thread.join();
    return true;
  });
  {
    MutexLock state_lock(state_->mutex);
    ++state_->running;
  }
  const auto note_end = [](State& state) {
    MutexLock state_lock(state.mutex);
    --state.running;
    state.changed.NotifyAll();
  };
  absl::StatusOr<std::thread> thread =
      TryThread([state = state_, has_ended, note_end, work = std::move(work)]() mutable {
        work();
        work = nullptr;  // destroys the objects of `work` before the thread counts as ended
        has_ended->store(true);
        note_end(*state);
      });
  if (!thread.ok()) {
    note_end(*state_);
    return thread.status();
  }
  workers_.push_back({*std::move(thread), has_ended});
  return absl::OkStatus();
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
