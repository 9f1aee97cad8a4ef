// Takes calls of the Store service through the loop. It checks each call, limits the number, bytes and time of the
// calls that wait, and answers each call once.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "absl/status/statusor.h"
#include "common/base/clock.h"
#include "scheduler/core/state/events.h"
#include "scheduler/frontend/pending_queries.h"
#include "scheduler/frontend/service_context.h"

namespace muster::scheduler {

class StoreCalls {
 public:
  // Called exactly once, on any thread, possibly inside Call; must not block.
  using Done = std::function<void(absl::StatusOr<v1::StoreReply> reply)>;

  // The first query id of store calls. The ids of calls from ms-ctl and keepers (ServiceContext::queries) stay below
  // it, so RpcEffectSink knows from an answer's id which kind of call it answers.
  static constexpr QueryId kFirst = QueryId{1} << 62;

  // `services` must outlive this.
  StoreCalls(const ServiceContext& services, size_t limit, size_t byte_limit);

  // Any thread may call this. The caller must be authorised; `identity` is the name in its certificate. The errors:
  //   INVALID_ARGUMENT     the operation is malformed
  //   UNAVAILABLE          a limit is reached, the disk is full, or the scheduler is shutting down
  //   DEADLINE_EXCEEDED    the core did not answer in time
  //   RESOURCE_EXHAUSTED   the store is full
  // The core may return other errors. After UNAVAILABLE and DEADLINE_EXCEEDED the change may have been made
  // nevertheless; the caller may send the same request again with the same number.
  void Call(StoreOperation operation, std::string identity, Done done);

  // Passes on an answer that belongs to the loop's current turn. Only the loop's thread may call this.
  void Resolve(Answer answer);
  // Runs the functions that AtTurnEnd has collected. The loop's thread calls it after the turn's last answer.
  void EndTurn();
  // Call this inside a Done, on any thread. It runs `then` at the end of the loop's turn, so that all answers of a turn
  // can share some work. Returns false, and never runs `then`, if the answer belongs to no turn of the loop.
  bool AtTurnEnd(std::function<void()> then);

  // See PendingQueries.
  void Expire(MonotonicTime now) { pending_.Expire(now); }
  void Close() { pending_.Close(); }

 private:
  const ServiceContext& services_;
  const size_t byte_limit_;
  const std::shared_ptr<std::atomic<size_t>> bytes_ = std::make_shared<std::atomic<size_t>>(0);
  PendingQueries pending_;
  std::atomic<std::thread::id> loop_;               // the loop's thread; no id before the first answer
  std::vector<std::function<void()>> at_turn_end_;  // the loop's thread only
};

}  // namespace muster::scheduler
