// Keeps gRPC's threads that answer calls from sleeping all at once.
//
// In gRPC 1.51, a thread of the callback API that has had no event for a second sleeps for 100 ms
// (src/cpp/common/completion_queue_cc.cc). If all these threads sleep, every new event waits up to 100 ms. To prevent
// that, PollerWaker makes an event each time Wake is called: a client call that fails at once.
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

  // Returns how many of Wake's calls gRPC's threads have answered. Any thread.
  uint64_t woken() const;

 private:
  class Impl;
  const std::unique_ptr<Impl> impl_;
};

}  // namespace muster::scheduler
