// A queue of messages to the agent: libpmix's thread fills it, and ms-pmix's main thread sends them. Thread-safe; no
// call waits.
#pragma once

#include <pmix_server.h>

#include <deque>
#include <mutex>
#include <string>
#include <string_view>
#include <utility>

#include "common/net/waker.h"
#include "worker_agent/gateway/mpi/pmix/frames.h"

namespace muster::pmix {

// A request of libpmix, such as a fence, that waits for its answer.
struct Pending {
  pmix_modex_cbfunc_t done = nullptr;
  void* data = nullptr;

  void Answer(pmix_status_t status, std::string_view bytes) const {
    auto* text = new std::string(bytes);  // libpmix calls `release` when it is done with it
    const auto release = [](void* of) { delete static_cast<std::string*>(of); };
    done(status, text->data(), text->size(), data, release, text);
  }
};

class Outbox {
 public:
  void Send(Kind kind, const std::string& bytes) {
    const std::lock_guard<std::mutex> lock(mutex_);
    frames_ += Encode(kind, bytes);
    waker_.Wake();
  }
  // Records the fence before sending it, so that the answer finds it.
  void SendFence(const std::string& bytes, Pending pending, bool has_data) {
    const std::lock_guard<std::mutex> lock(mutex_);
    if (!std::exchange(had_fence_, true)) is_modex_wanted_ = !has_data;
    fences_.push_back(pending);
    frames_ += Encode(Kind::kFence, bytes);
    waker_.Wake();
  }
  std::string TakeFrames() {
    const std::lock_guard<std::mutex> lock(mutex_);
    waker_.Clear();
    return std::exchange(frames_, "");
  }
  Pending TakeFence() {
    const std::lock_guard<std::mutex> lock(mutex_);
    if (fences_.empty()) return {};
    const Pending first = fences_.front();
    fences_.pop_front();
    return first;
  }
  // Returns true once, if the first fence had no data.
  bool TakeModexWanted() {
    const std::lock_guard<std::mutex> lock(mutex_);
    return std::exchange(is_modex_wanted_, false);
  }
  int wake() const { return waker_.fd(); }

 private:
  const Waker waker_;
  std::mutex mutex_;
  std::string frames_;
  std::deque<Pending> fences_;
  bool had_fence_ = false;
  bool is_modex_wanted_ = false;
};

// Global, because libpmix passes no object to its callbacks.
inline Outbox& TheOutbox() {
  static Outbox outbox;
  return outbox;
}

}  // namespace muster::pmix
