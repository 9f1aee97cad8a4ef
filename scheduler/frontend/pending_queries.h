// Calls that wait for the core's answer: bounded in number and time. Thread-safe.
//
// A question about all nodes of a large job takes the core milliseconds, and the loop applies events in order. Hundreds
// of them before a join or a heartbeat would delay it by seconds. So questions that take turns (Begin) wait here, and
// only few are in the loop's queue. Principals (PrincipalOf) take turns, and each gets at most half of the places. So a
// principal that asks a lot delays another's question only by one of its own.
#pragma once

#include <deque>
#include <functional>
#include <map>
#include <optional>
#include <string>

#include "absl/status/statusor.h"
#include "common/base/clock.h"
#include "common/base/mutex.h"
#include "scheduler/core/state/events.h"

namespace muster::scheduler {

class PendingQueries {
 public:
  // Called exactly once for each query, on the thread that resolves it, without a lock held.
  using Done = std::function<void(Answer)>;

  // Posts the event. False: it was not posted, and NoteApplied must not be called for it. Called without a lock held.
  using PostQuery = std::function<bool()>;

  static constexpr size_t kMaxPosted = 4;  // in the loop's queue, of those that take turns

  // Query numbers rise from `first` on.
  explicit PendingQueries(size_t limit, QueryId first = 1) : limit_(limit), last_id_(first - 1) {}

  // RESOURCE_EXHAUSTED if `limit` queries wait, or half as many of one (named) principal; UNAVAILABLE after Close. Does
  // not call `done` then.
  absl::StatusOr<QueryId> Add(MonotonicTime deadline, Done done, const std::string& principal = "");

  // Calls `post` at the query's turn, now or in a later NoteApplied, unless the query has its answer by then. The query
  // must have been added with its principal.
  void Begin(QueryId id, PostQuery post);
  // Call it after the loop has applied an event that `post` has posted.
  void NoteApplied();

  // Drops an answer to a query that no longer waits.
  void Resolve(Answer answer);

  // Answers the queries past their deadline with DEADLINE_EXCEEDED.
  void Expire(MonotonicTime now);

  // Answers all queries with UNAVAILABLE, and accepts no more.
  void Close();

 private:
  struct Waiting {
    MonotonicTime deadline;
    Done done;
    std::string principal;
  };
  struct Principal {
    size_t waiting = 0;        // for an answer
    std::deque<QueryId> line;  // those of them that wait for their turn
  };

  std::optional<PostQuery> TakeNext();
  void PostNext();
  void Forget(QueryId id, const std::string& principal) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  const size_t limit_;
  Mutex mutex_;
  QueryId last_id_ ABSL_GUARDED_BY(mutex_);
  bool closed_ ABSL_GUARDED_BY(mutex_) = false;
  std::map<QueryId, Waiting> waiting_ ABSL_GUARDED_BY(mutex_);
  std::map<std::string, Principal> principals_ ABSL_GUARDED_BY(mutex_);  // with waiting queries
  std::map<QueryId, PostQuery> posts_ ABSL_GUARDED_BY(mutex_);           // of queries that wait for their turn
  std::deque<std::string> turns_ ABSL_GUARDED_BY(mutex_);                // principals with a line, once each
  size_t posted_ ABSL_GUARDED_BY(mutex_) = 0;                            // or about to be posted
};

}  // namespace muster::scheduler
