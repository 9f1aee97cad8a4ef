// What libpmix's thread leaves for ms-pmix's main one, which sends it to the agent. Thread-safe; no call waits.
#pragma once

#include <pmix_server.h>
#include <sys/eventfd.h>

#include <deque>
#include <mutex>
#include <string>
#include <utility>

#include "worker_agent/gateway/pmix/frames.h"

namespace muster::pmix {

// A fence or another question that libpmix waits for the answer of.
struct Pending {
  pmix_modex_cbfunc_t done = nullptr;
  void* data = nullptr;
};

// What libpmix's thread leaves for the main one.
class Outbox {
 public:
  void Send(Kind kind, const std::string& bytes) {
    const std::lock_guard<std::mutex> lock(mutex_);
    frames_ += Encode(kind, bytes);
    eventfd_write(wake_, 1);
  }
  // Before it is sent, the fence is known here.
  void SendFence(const std::string& bytes, Pending pending) {
    const std::lock_guard<std::mutex> lock(mutex_);
    fences_.push_back(pending);
    frames_ += Encode(Kind::kFence, bytes);
    eventfd_write(wake_, 1);
  }
  std::string TakeFrames() {
    const std::lock_guard<std::mutex> lock(mutex_);
    eventfd_t ignored = 0;
    eventfd_read(wake_, &ignored);
    return std::exchange(frames_, "");
  }
  Pending TakeFence() {
    const std::lock_guard<std::mutex> lock(mutex_);
    if (fences_.empty()) return {};
    const Pending first = fences_.front();
    fences_.pop_front();
    return first;
  }
  int wake() const { return wake_; }

 private:
  const int wake_ = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
  std::mutex mutex_;
  std::string frames_;
  std::deque<Pending> fences_;
};

// libpmix's callbacks take no object.
inline Outbox& TheOutbox() {
  static Outbox outbox;
  return outbox;
}

}  // namespace muster::pmix
