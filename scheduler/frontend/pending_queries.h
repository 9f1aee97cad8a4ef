// Calls that wait for the core's answer: bounded in number and time. Thread-safe.
#pragma once

#include <functional>
#include <map>

#include "absl/status/statusor.h"
#include "common/base/clock.h"
#include "common/base/mutex.h"
#include "scheduler/core/events.h"

namespace muster::scheduler {

class PendingQueries {
 public:
  // Called exactly once for each query, on the thread that resolves it, without a lock held.
  using Done = std::function<void(Answer)>;

  // Its numbers rise from `first` on.
  explicit PendingQueries(size_t limit, QueryId first = 1) : limit_(limit), last_id_(first - 1) {}

  // RESOURCE_EXHAUSTED when `limit` queries wait, UNAVAILABLE after Close; `done` is not called then.
  absl::StatusOr<QueryId> Add(MonotonicTime deadline, Done done);

  // An answer to a query that is not waiting (any more) is dropped.
  void Resolve(Answer answer);

  // Answers those whose deadline has come with DEADLINE_EXCEEDED.
  void Expire(MonotonicTime now);

  // Answers all with UNAVAILABLE, and takes no more.
  void Close();

 private:
  struct Waiting {
    MonotonicTime deadline;
    Done done;
  };

  const size_t limit_;
  Mutex mutex_;
  QueryId last_id_ ABSL_GUARDED_BY(mutex_);
  bool closed_ ABSL_GUARDED_BY(mutex_) = false;
  std::map<QueryId, Waiting> waiting_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace muster::scheduler
