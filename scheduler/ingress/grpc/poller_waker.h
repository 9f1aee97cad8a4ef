// Keeps gRPC's threads that answer calls from napping all at once.
//
// In gRPC 1.51 a thread of the callback API that has seen no event for a second sleeps for 100 ms
// (src/cpp/common/completion_queue_cc.cc). If all of them sleep, whatever arrives waits that long. A thread that had an
// event within the last second doesn't sleep, so this makes an event now and then: a call that fails at once, on a
// channel that leads nowhere.
#pragma once

#include <cstdint>
#include <memory>

namespace muster::scheduler {

class PollerWaker {
 public:
  PollerWaker();
  ~PollerWaker();  // waits for the call that is under way

  // To be called at least twice a second, always by the same thread. Costs some microseconds.
  void Wake();

  // Any thread: how many of these calls one of gRPC's threads has answered.
  uint64_t woken() const;

 private:
  class Impl;
  const std::unique_ptr<Impl> impl_;
};

}  // namespace muster::scheduler
