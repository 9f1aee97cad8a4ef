#include "scheduler/frontend/sweeper.h"

#include <pthread.h>

#include <utility>

#include "common/sys/threads.h"

namespace muster::scheduler {

absl::Status Sweeper::Start(std::function<void()> sweep) {
  absl::StatusOr<std::thread> thread = TryThread([this, sweep = std::move(sweep)] { Run(sweep); });
  if (!thread.ok()) return thread.status();
  thread_ = *std::move(thread);
  return absl::OkStatus();
}

void Sweeper::Run(const std::function<void()>& sweep) {
  pthread_setname_np(pthread_self(), "ms-sweeper");
  while (true) {
    {
      MutexLock lock(mutex_);
      if (!stopping_) stopped_.WaitFor(mutex_, absl::Milliseconds(250));
      if (stopping_) return;
    }
    sweep();
  }
}

void Sweeper::Stop() {
  {
    MutexLock lock(mutex_);
    stopping_ = true;
    stopped_.NotifyAll();
  }
  if (thread_.joinable()) thread_.join();
}

}  // namespace muster::scheduler
