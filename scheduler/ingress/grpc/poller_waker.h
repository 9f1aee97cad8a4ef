// Keeps gRPC's threads that answer calls from sleeping all at once.
//
// In gRPC 1.51 a thread of the callback API that saw no event for a second sleeps for 100 ms
// (src/cpp/common/completion_queue_cc.cc). If all of them sleep, any event waits that long. A thread that had an event
// within the last second doesn't sleep. So this makes an event now and then: a call that fails at once, on a channel to
// nowhere.
#pragma once

#include <cstdint>
#include <memory>

namespace muster::scheduler {

class PollerWaker {
 public:
  PollerWaker();
  ~PollerWaker();  // waits for the call in flight

  // Call it at least twice a second, always on the same thread. Costs some microseconds.
  void Wake();

  // Any thread. Returns how many of these calls gRPC's threads have answered.
  uint64_t woken() const;

 private:
  class Impl;
  const std::unique_ptr<Impl> impl_;
};

}  // namespace muster::scheduler
