// epoll with an eventfd that wakes it: the base of every loop over many descriptors. The poller knows descriptors only
// by keys. Its user runs the loop, and decides what the keys mean.
//
// Wait and Wake allocate nothing and take no lock. Any thread may call Add and Wake; only one thread may call Wait.
#pragma once

#include <sys/epoll.h>

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "common/base/unique_fd.h"
#include "common/net/waker.h"

namespace muster {

class Poller {
 public:
  static constexpr size_t kDefaultBatch = 64;

  // Wait returns at most `batch` events in one call.
  explicit Poller(size_t batch = kDefaultBatch);

  // RESOURCE_EXHAUSTED if no descriptors were left for the poller. Check it once, before anything else.
  const absl::Status& status() const { return status_; }

  // Watches a descriptor. `events` is as in epoll_ctl(2), and may include EPOLLET. `key` is any number except
  // UINT64_MAX. A closed descriptor is no longer watched, unless a copy of it is still open. Errors name the descriptor
  // and the limit that is reached. A regular file can't be watched.
  absl::Status Add(int fd, uint32_t events, uint64_t key) { return Control(EPOLL_CTL_ADD, fd, events, key); }
  absl::Status Modify(int fd, uint32_t events, uint64_t key) { return Control(EPOLL_CTL_MOD, fd, events, key); }
  // Does nothing for a descriptor that isn't watched.
  void Remove(int fd) { epoll_ctl(epoll_.get(), EPOLL_CTL_DEL, fd, nullptr); }

  // Waits for events, for Wake, or until `patience` is over. Each event has `events` and `data.u64`, the key. A signal
  // makes Wait return early, without events. The result is valid until the next Wait. An event's key may stand for
  // something that ended while an earlier event of the same result was handled.
  std::span<const epoll_event> Wait(absl::Duration patience = absl::InfiniteDuration());

  // Ends the current Wait, or the next one. May be called by any thread.
  void Wake() { waker_.Wake(); }

 private:
  absl::Status Control(int operation, int fd, uint32_t events, uint64_t key);

  const UniqueFd epoll_;
  const Waker waker_;
  std::vector<epoll_event> events_;
  absl::Status status_;
};

}  // namespace muster
