// Calls that wait for the core's answer. Their number and their time are limited. Thread-safe.
//
// The core needs milliseconds to answer a question about all nodes of a large job, and the loop applies events in
// order. Hundreds of such questions before a join or a heartbeat would delay it by seconds. So questions that use Begin
// wait here, and only kMaxPosted of them are in the loop's queue at once.
//
// Principals (clients, see PrincipalOf) take turns. So a principal that asks many questions delays another's question
// by only one of its own. At most half of the waiting calls may be one principal's.
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

  // Posts the query's event to the loop. Returns false if it was not posted; NoteApplied must then not be called for
  // it. Called without a lock held.
  using PostQuery = std::function<bool()>;

  static constexpr size_t kMaxPosted = 4;  // the most queries from Begin that are in the loop's queue at once

  // Query numbers rise from `first` on.
  explicit PendingQueries(size_t limit, QueryId first = 1) : limit_(limit), last_id_(first - 1) {}

  // Adds a call that waits for its answer, and returns its id. Returns RESOURCE_EXHAUSTED if `limit` calls wait
  // already, or half as many of `principal` (unless it is empty), and UNAVAILABLE after Close. If it returns an error,
  // it does not call `done`.
  absl::StatusOr<QueryId> Add(MonotonicTime deadline, Done done, const std::string& principal = "");

  // Calls `post` when it is the query's turn, now or in a later NoteApplied, unless the query was answered before. Add
  // must have got a principal for it.
  void Begin(QueryId id, PostQuery post);
  // Call it after the loop has applied an event that `post` has posted.
  void NoteApplied();

  // Calls `done` of the query with the answer. Does nothing if the query no longer waits.
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
    size_t waiting = 0;        // the number of its queries that wait for an answer
    std::deque<QueryId> line;  // its queries that wait for their turn, oldest first
  };

  std::optional<PostQuery> TakeNext();
  void PostNext();
  void Forget(QueryId id, const std::string& principal) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  const size_t limit_;
  Mutex mutex_;
  QueryId last_id_ ABSL_GUARDED_BY(mutex_);
  bool closed_ ABSL_GUARDED_BY(mutex_) = false;
  std::map<QueryId, Waiting> waiting_ ABSL_GUARDED_BY(mutex_);
  std::map<std::string, Principal> principals_ ABSL_GUARDED_BY(mutex_);  // those with waiting queries
  std::map<QueryId, PostQuery> posts_ ABSL_GUARDED_BY(mutex_);           // of queries that wait for their turn
  std::deque<std::string> turns_ ABSL_GUARDED_BY(mutex_);                // principals with a line, once each
  size_t posted_ ABSL_GUARDED_BY(mutex_) = 0;                            // queries that are posted or about to be
};

}  // namespace muster::scheduler
