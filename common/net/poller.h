// epoll, and what wakes it: what every loop over many descriptors begins with. It knows keys; what they stand for, and
// the loop, are its user's.
//
// Wait and Wake allocate nothing and take no lock. Any thread may Add and Wake; one thread waits.
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

  // Wait gives at most `batch` events at once.
  explicit Poller(size_t batch = kDefaultBatch);

  // RESOURCE_EXHAUSTED if there were no descriptors for it; to be asked once, before anything else.
  const absl::Status& status() const { return status_; }

  // `events` as in epoll_ctl(2), EPOLLET and the like too. `key` is any number but UINT64_MAX. It is not remembered
  // here which descriptors are watched: one that is closed is forgotten by the kernel, if nobody else holds it open.
  // Errors name the descriptor and the limit that is reached; a regular file can't be watched.
  absl::Status Add(int fd, uint32_t events, uint64_t key) { return Control(EPOLL_CTL_ADD, fd, events, key); }
  absl::Status Modify(int fd, uint32_t events, uint64_t key) { return Control(EPOLL_CTL_MOD, fd, events, key); }
  // Harmless for one that isn't watched.
  void Remove(int fd) { epoll_ctl(epoll_.get(), EPOLL_CTL_DEL, fd, nullptr); }

  // Waits for events (`events` and `data.u64`, the key), for Wake, or until `patience` is over. Returns early, without
  // events, where a signal comes. What it returns is good until the next Wait, and may speak of what an event before it
  // in the same batch has ended.
  std::span<const epoll_event> Wait(absl::Duration patience = absl::InfiniteDuration());

  // Any thread: ends the Wait that is under way, or the next one.
  void Wake() { waker_.Wake(); }

 private:
  absl::Status Control(int operation, int fd, uint32_t events, uint64_t key);

  const UniqueFd epoll_;
  const Waker waker_;
  std::vector<epoll_event> events_;
  absl::Status status_;
};

}  // namespace muster
