// epoll, and an eventfd that wakes it: the base of every loop over many descriptors. It knows only keys; their meaning,
// and the loop, belong to its user.
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

  // Wait returns at most `batch` events at once.
  explicit Poller(size_t batch = kDefaultBatch);

  // RESOURCE_EXHAUSTED if there were no descriptors for it; check once, before anything else.
  const absl::Status& status() const { return status_; }

  // `events` as in epoll_ctl(2), including EPOLLET. `key` is any number except UINT64_MAX. The poller keeps no list of
  // watched descriptors: the kernel forgets a closed one, if nothing else holds it open. Errors name the descriptor and
  // the limit that is reached; a regular file can't be watched.
  absl::Status Add(int fd, uint32_t events, uint64_t key) { return Control(EPOLL_CTL_ADD, fd, events, key); }
  absl::Status Modify(int fd, uint32_t events, uint64_t key) { return Control(EPOLL_CTL_MOD, fd, events, key); }
  // Harmless for a descriptor that isn't watched.
  void Remove(int fd) { epoll_ctl(epoll_.get(), EPOLL_CTL_DEL, fd, nullptr); }

  // Waits for events (`events` and `data.u64`, the key), for Wake, or until `patience` is over. A signal makes it
  // return early, without events. The result is valid until the next Wait; an event in it may concern something that an
  // earlier event of the same batch has ended.
  std::span<const epoll_event> Wait(absl::Duration patience = absl::InfiniteDuration());

  // Any thread: ends the current Wait, or the next one.
  void Wake() { waker_.Wake(); }

 private:
  absl::Status Control(int operation, int fd, uint32_t events, uint64_t key);

  const UniqueFd epoll_;
  const Waker waker_;
  std::vector<epoll_event> events_;
  absl::Status status_;
};

}  // namespace muster
