// Calls of the store on their way through the loop: checked, bounded in number, bytes and time, answered once.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "common/base/clock.h"
#include "scheduler/core/events.h"
#include "scheduler/frontend/pending_queries.h"
#include "scheduler/frontend/service_context.h"

namespace muster::scheduler {

class StoreCalls {
 public:
  // Called exactly once, by any thread, also from inside Call; must not block.
  using Done = std::function<void(absl::StatusOr<v1::StoreReply> reply)>;

  // The numbers of its calls begin here: those of ms-ctl stay below.
  static constexpr QueryId kFirst = QueryId{1} << 62;

  // Nothing is owned.
  StoreCalls(const ServiceContext& services, size_t limit, size_t byte_limit);

  // Any thread. The caller is authorised; `identity` is its certificate's name. UNAVAILABLE beyond the limits, and
  // while the disk is full: nothing has happened, and the same request may come again. RESOURCE_EXHAUSTED is
  // the core's word: the store is full.
  void Call(StoreOperation operation, std::string identity, Done done);

  // See PendingQueries.
  void Resolve(Answer answer) { pending_.Resolve(std::move(answer)); }
  void Expire(MonotonicTime now) { pending_.Expire(now); }
  void Close() { pending_.Close(); }

 private:
  const ServiceContext& services_;
  const size_t byte_limit_;
  const std::shared_ptr<std::atomic<size_t>> bytes_ = std::make_shared<std::atomic<size_t>>(0);
  PendingQueries pending_;
};

}  // namespace muster::scheduler
