#include "scheduler/frontend/pending_queries.h"

#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"

namespace muster::scheduler {

absl::StatusOr<QueryId> PendingQueries::Add(MonotonicTime deadline, Done done) {
  MutexLock lock(mutex_);
  if (closed_) return absl::UnavailableError("the scheduler is going down");
  if (waiting_.size() >= limit_) {
    return absl::ResourceExhaustedError(absl::StrCat(limit_, " calls are waiting already: try again later"));
  }
  const QueryId id = ++last_id_;
  waiting_.emplace(id, Waiting{deadline, std::move(done)});
  return id;
}

void PendingQueries::Resolve(Answer answer) {
  Done done;
  {
    MutexLock lock(mutex_);
    const auto found = waiting_.find(answer.query);
    if (found == waiting_.end()) return;
    done = std::move(found->second.done);
    waiting_.erase(found);
  }
  done(std::move(answer));
}

void PendingQueries::Expire(MonotonicTime now) {
  std::vector<QueryId> expired;
  {
    MutexLock lock(mutex_);
    for (const auto& [id, waiting] : waiting_) {
      if (waiting.deadline <= now) expired.push_back(id);
    }
  }
  for (QueryId id : expired) {
    Resolve(Answer{id, absl::DeadlineExceededError("the scheduler did not answer in time: it is overloaded"), {}});
  }
}

void PendingQueries::Close() {
  std::vector<QueryId> left;
  {
    MutexLock lock(mutex_);
    closed_ = true;
    for (const auto& [id, waiting] : waiting_) left.push_back(id);
  }
  for (QueryId id : left) Resolve(Answer{id, absl::UnavailableError("the scheduler is going down"), {}});
}

}  // namespace muster::scheduler
