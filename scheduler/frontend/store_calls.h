// Store calls on their way through the loop: checked, limited in number, bytes and time, each answered once.
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

  // The first query id of the store. Ids of ms-ctl and keepers (ServiceContext::queries) stay below it, which
  // RpcEffectSink uses to route answers.
  static constexpr QueryId kFirst = QueryId{1} << 62;

  // `services` must outlive this.
  StoreCalls(const ServiceContext& services, size_t limit, size_t byte_limit);

  // Any thread. The caller is authorised; `identity` is its certificate's name. INVALID_ARGUMENT: malformed.
  // UNAVAILABLE (beyond the limits, the disk is full, or shutting down) and DEADLINE_EXCEEDED (not answered in time):
  // the change may still have been made, and the same request with the same number may be sent again. Other errors are
  // the core's: RESOURCE_EXHAUSTED means that the store is full.
  void Call(StoreOperation operation, std::string identity, Done done);

  // Takes an answer of the current turn. The loop's thread only.
  void Resolve(Answer answer);
  // The turn's last answer was resolved.
  void EndTurn();
  // Call it inside a Done, on any thread. Runs `then` at the end of the turn, for work that the turn's answers share.
  // False if the answer belongs to no turn.
  bool AtTurnEnd(std::function<void()> then);

  // See PendingQueries.
  void Expire(MonotonicTime now) { pending_.Expire(now); }
  void Close() { pending_.Close(); }

 private:
  const ServiceContext& services_;
  const size_t byte_limit_;
  const std::shared_ptr<std::atomic<size_t>> bytes_ = std::make_shared<std::atomic<size_t>>(0);
  PendingQueries pending_;
  std::atomic<std::thread::id> loop_;               // no id before the first answer
  std::vector<std::function<void()>> at_turn_end_;  // the loop's thread only
};

}  // namespace muster::scheduler
