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
  // Calls `sweep` about four times a second. RESOURCE_EXHAUSTED: no thread can be started.
  absl::Status Start(std::function<void()> sweep);
  // Call it on any other thread than the sweeper's. Once this returns, `sweep` is not called any more.
  void Stop();

 private:
  void Run(const std::function<void()>& sweep);

  Mutex mutex_;
  CondVar stopped_;
  bool stopping_ ABSL_GUARDED_BY(mutex_) = false;
  std::thread thread_;
};

}  // namespace muster::scheduler
