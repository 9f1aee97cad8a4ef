// The moment when a query is posted:
//
//   fewer than kMaxPosted queries are in the loop's queue   at once
//   kMaxPosted queries are in the loop's queue              after one of them was applied, when it is the principal's
//                                                           turn and this is the principal's oldest query
//   it is answered before its turn (Expire or Close)        never
#include "scheduler/frontend/pending_queries.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"

namespace muster::scheduler {

absl::StatusOr<QueryId> PendingQueries::Add(MonotonicTime deadline, Done done, const std::string& principal) {
  MutexLock lock(mutex_);
  if (closed_) return absl::UnavailableError("the scheduler is shutting down");
  if (waiting_.size() >= limit_) {
    return absl::ResourceExhaustedError(absl::StrCat(limit_, " calls are waiting already: try again later"));
  }
  if (!principal.empty()) {
    size_t& of_principal = principals_[principal].waiting;
    if (of_principal >= std::max<size_t>(1, limit_ / 2)) {
      return absl::ResourceExhaustedError(
          absl::StrCat(of_principal, " calls of ", principal, " are waiting already: try again later"));
    }
    ++of_principal;
  }
  const QueryId id = ++last_id_;
  waiting_.emplace(id, Waiting{deadline, std::move(done), principal});
  return id;
}

void PendingQueries::Begin(QueryId id, PostQuery post) {
  {
    MutexLock lock(mutex_);
    const auto found = waiting_.find(id);
    if (found == waiting_.end()) return;
    const std::string& principal = found->second.principal;
    std::deque<QueryId>& line = principals_[principal].line;
    if (line.empty()) turns_.push_back(principal);
    line.push_back(id);
    posts_.emplace(id, std::move(post));
    if (posted_ == kMaxPosted) return;
    ++posted_;
  }
  PostNext();
}

void PendingQueries::NoteApplied() { PostNext(); }

// Gives one free place in the loop's queue to the next query.
void PendingQueries::PostNext() {
  while (std::optional<PostQuery> post = TakeNext()) {
    if ((*post)()) return;
  }
}

// Returns the next query to post. If no query waits, gives the free place back and returns nullopt.
std::optional<PendingQueries::PostQuery> PendingQueries::TakeNext() {
  MutexLock lock(mutex_);
  if (turns_.empty()) {
    --posted_;
    return std::nullopt;
  }
  std::string principal = std::move(turns_.front());
  turns_.pop_front();
  std::deque<QueryId>& line = principals_.at(principal).line;
  const QueryId id = line.front();
  line.pop_front();
  if (!line.empty()) turns_.push_back(std::move(principal));
  return std::move(posts_.extract(id).mapped());
}

// Removes the query from its principal's counts and line.
void PendingQueries::Forget(QueryId id, const std::string& principal) {
  if (principal.empty()) return;
  const auto found = principals_.find(principal);
  Principal& its = found->second;
  if (posts_.erase(id) > 0) {
    its.line.erase(std::find(its.line.begin(), its.line.end(), id));
    if (its.line.empty()) turns_.erase(std::find(turns_.begin(), turns_.end(), principal));
  }
  if (--its.waiting == 0) principals_.erase(found);
}

void PendingQueries::Resolve(Answer answer) {
  Done done;
  {
    MutexLock lock(mutex_);
    const auto found = waiting_.find(answer.query);
    if (found == waiting_.end()) return;
    done = std::move(found->second.done);
    const std::string principal = std::move(found->second.principal);
    waiting_.erase(found);
    Forget(answer.query, principal);
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
  for (QueryId id : left) Resolve(Answer{id, absl::UnavailableError("the scheduler is shutting down"), {}});
}

}  // namespace muster::scheduler
