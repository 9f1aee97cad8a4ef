// Calls of the store on their way through the loop: checked, bounded in number, bytes and time, answered once.
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
  // Called exactly once, by any thread, also from inside Call; must not block.
  using Done = std::function<void(absl::StatusOr<v1::StoreReply> reply)>;

  // Query ids begin here, those of ms-ctl and keepers (ServiceContext::queries) stay below: RpcEffectSink routes by
  // that.
  static constexpr QueryId kFirst = QueryId{1} << 62;

  // `services` must outlive this.
  StoreCalls(const ServiceContext& services, size_t limit, size_t byte_limit);

  // Any thread. The caller is authorised; `identity` is its certificate's name. INVALID_ARGUMENT: malformed.
  // UNAVAILABLE (beyond the limits, while the disk is full, while going down) and DEADLINE_EXCEEDED (not answered in
  // time): a change may have been made all the same; the same request with the same number may come again. Other errors
  // are the core's: RESOURCE_EXHAUSTED means that the store is full.
  void Call(StoreOperation operation, std::string identity, Done done);

  // Of the loop's thread: an answer of this turn.
  void Resolve(Answer answer);
  // The turn's last answer was resolved.
  void EndTurn();
  // Any thread. From within a Done: `then` is called when the turn ends, for what its answers have in common. False
  // where the answer is of no turn.
  bool AtTurnEnd(std::function<void()> then);

  // See PendingQueries.
  void Expire(MonotonicTime now) { pending_.Expire(now); }
  void Close() { pending_.Close(); }

 private:
  const ServiceContext& services_;
  const size_t byte_limit_;
  const std::shared_ptr<std::atomic<size_t>> bytes_ = std::make_shared<std::atomic<size_t>>(0);
  PendingQueries pending_;
  std::atomic<std::thread::id> loop_;               // none before the first answer
  std::vector<std::function<void()>> at_turn_end_;  // of the loop's thread
};

}  // namespace muster::scheduler
