// Calls that wait for the core's answer: bounded in number and time. Thread-safe.
//
// Questions for all nodes of a large job take the core milliseconds each, and the loop applies events in their order:
// hundreds of them before a join or a heartbeat would delay it by seconds. So those that are taken in turn (Begin) wait
// here, and few are in the loop's queue at a time. Parties (PartyOf) have turns one after the other, and each has half
// of the places at most: one that asks for much delays the questions of others by one of its own.
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

  // Posts the event. False: it was not posted, and NoteApplied is not called for it. Called without a lock held.
  using PostQuery = std::function<bool()>;

  static constexpr size_t kMaxPosted = 4;  // in the loop's queue, of those that are taken in turn

  // Its numbers rise from `first` on.
  explicit PendingQueries(size_t limit, QueryId first = 1) : limit_(limit), last_id_(first - 1) {}

  // RESOURCE_EXHAUSTED when `limit` queries wait, or half of that of one party (if it is named); UNAVAILABLE after
  // Close. `done` is not called then.
  absl::StatusOr<QueryId> Add(MonotonicTime deadline, Done done, const std::string& party = "");

  // Calls `post` when it is the query's turn, now or in a later NoteApplied, unless the query has its answer by then.
  // Of a query that was added with its party.
  void Begin(QueryId id, PostQuery post);
  // The loop has applied the event of a query that `post` has posted.
  void NoteApplied();

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
    std::string party;
  };
  struct Party {
    size_t waiting = 0;        // for an answer
    std::deque<QueryId> line;  // of those, for their turn
  };

  std::optional<PostQuery> TakeNext();
  void PostNext();
  void Forget(QueryId id, const std::string& party) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  const size_t limit_;
  Mutex mutex_;
  QueryId last_id_ ABSL_GUARDED_BY(mutex_);
  bool closed_ ABSL_GUARDED_BY(mutex_) = false;
  std::map<QueryId, Waiting> waiting_ ABSL_GUARDED_BY(mutex_);
  std::map<std::string, Party> parties_ ABSL_GUARDED_BY(mutex_);  // with a query that waits
  std::map<QueryId, PostQuery> posts_ ABSL_GUARDED_BY(mutex_);    // of those that wait for their turn
  std::deque<std::string> turns_ ABSL_GUARDED_BY(mutex_);         // parties with a line, each once
  size_t posted_ ABSL_GUARDED_BY(mutex_) = 0;                     // or about to be
};

}  // namespace muster::scheduler
