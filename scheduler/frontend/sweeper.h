// One thread that regularly checks the time limits of streams and queries.
#pragma once

#include <functional>
#include <thread>

#include "absl/status/status.h"
#include "common/base/mutex.h"

namespace muster::scheduler {

class Sweeper {
 public:
  ~Sweeper() { Stop(); }
  // Starts a thread that calls `sweep` about four times a second. Returns RESOURCE_EXHAUSTED if no thread can be
  // started.
  absl::Status Start(std::function<void()> sweep);
  // Any thread except the sweeper's may call this. Once this returns, `sweep` is not called any more.
  void Stop();

 private:
  void Run(const std::function<void()>& sweep);

  Mutex mutex_;
  CondVar stopped_;
  bool stopping_ ABSL_GUARDED_BY(mutex_) = false;
  std::thread thread_;
};

}  // namespace muster::scheduler
