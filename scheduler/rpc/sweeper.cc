#include "scheduler/rpc/sweeper.h"

#include <pthread.h>

#include <utility>

namespace muster::scheduler {

void Sweeper::Start(std::function<void()> sweep) {
  thread_ = std::thread([this, sweep = std::move(sweep)] { Run(sweep); });
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
