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
