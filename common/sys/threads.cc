#include "common/sys/threads.h"

#include <pthread.h>

#include <thread>
#include <utility>

#include "common/base/clock.h"
#include "common/base/mutex.h"

namespace muster {

struct SideThread::Shared {
  Mutex mutex;
  CondVar changed;
  std::function<void()> work ABSL_GUARDED_BY(mutex);  // set until the thread takes it
  bool is_busy ABSL_GUARDED_BY(mutex) = false;        // true from the hand-over to the end of the work
  bool has_given_up ABSL_GUARDED_BY(mutex) = false;
  bool is_ending ABSL_GUARDED_BY(mutex) = false;
};

absl::StatusOr<std::shared_ptr<SideThread>> SideThread::Make(const std::string& name) {
  auto shared = std::make_shared<Shared>();
  absl::StatusOr<std::thread> thread = TryThread([shared, name] {
    pthread_setname_np(pthread_self(), name.c_str());
    Serve(shared);
  });
  if (!thread.ok()) return thread.status();
  thread->detach();
  return std::shared_ptr<SideThread>(new SideThread(std::move(shared)));
}

SideThread::~SideThread() {
  MutexLock lock(shared_->mutex);
  shared_->is_ending = true;
  shared_->changed.NotifyAll();
}

void SideThread::Serve(const std::shared_ptr<Shared>& shared) {
  while (true) {
    std::function<void()> work;
    {
      MutexLock lock(shared->mutex);
      while (!shared->work && !shared->is_ending) shared->changed.Wait(shared->mutex);
      if (shared->is_ending) return;
      work = std::exchange(shared->work, nullptr);
    }
    work();
    work = nullptr;
    MutexLock lock(shared->mutex);
    shared->is_busy = false;
    shared->changed.NotifyAll();
  }
}

bool SideThread::Run(std::function<void()> work, absl::Duration limit) {
  const MonotonicTime end = Clock::System().Read().monotonic + limit;
  MutexLock lock(shared_->mutex);
  if (shared_->is_busy || shared_->has_given_up) return false;
  shared_->is_busy = true;
  shared_->work = std::move(work);
  shared_->changed.NotifyAll();
  while (shared_->is_busy) {
    const MonotonicTime now = Clock::System().Read().monotonic;
    if (shared_->has_given_up || now >= end) return false;
    shared_->changed.WaitFor(shared_->mutex, end - now);
  }
  return true;
}

void SideThread::GiveUp() {
  MutexLock lock(shared_->mutex);
  shared_->has_given_up = true;
  shared_->changed.NotifyAll();
}

}  // namespace muster
