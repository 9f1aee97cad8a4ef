// One thread that does a small thing again and again: time limits of streams and queries.
#pragma once

#include <functional>
#include <thread>

#include "absl/status/status.h"
#include "common/base/mutex.h"

namespace muster::scheduler {

class Sweeper {
 public:
  ~Sweeper() { Stop(); }
  // Calls `sweep` about four times a second. RESOURCE_EXHAUSTED: there is no thread to be had.
  absl::Status Start(std::function<void()> sweep);
  // Not by the sweeper's thread. `sweep` is not called any more when this has returned.
  void Stop();

 private:
  void Run(const std::function<void()>& sweep);

  Mutex mutex_;
  CondVar stopped_;
  bool stopping_ ABSL_GUARDED_BY(mutex_) = false;
  std::thread thread_;
};

}  // namespace muster::scheduler
