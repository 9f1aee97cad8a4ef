#include "scheduler/frontend/store_calls.h"

#include <utility>
#include <variant>

#include "absl/strings/str_cat.h"
#include "common/base/limits.h"
#include "scheduler/rpc/validation.h"

namespace muster::scheduler {
namespace {

// The core itself answers a Wait when its time is over. The deadline here is later by this much, so that it counts only
// if the core does not answer.
constexpr absl::Duration kSlack = absl::Milliseconds(500);

}  // namespace

StoreCalls::StoreCalls(const ServiceContext& services, size_t limit, size_t byte_limit)
    : services_(services), byte_limit_(byte_limit), pending_(limit, kFirst) {}

void StoreCalls::Call(StoreOperation operation, std::string identity, Done done) {
  if (absl::Status status = CheckStoreOperation(operation); !status.ok()) return done(std::move(status));
  // While the disk is full, refuse reads as well: their answers would wait for the record that can't be written, and
  // would pile up. Agents can answer from their copies.
  if (const std::string why = services_.WhyFull(); !why.empty()) return done(absl::UnavailableError(why));
  const size_t bytes = BytesOf(operation);
  const auto all = bytes_;  // shared, because a call may be answered after this object is gone
  if (all->fetch_add(bytes) + bytes > byte_limit_) {
    all->fetch_sub(bytes);
    return done(absl::UnavailableError(
        absl::StrCat("calls with ", byte_limit_, " bytes wait for the store already: try again")));
  }
  const MonotonicTime deadline = services_.clock.Read().monotonic + absl::Milliseconds(kMaxStoreWaitMs) + kSlack;
  const absl::StatusOr<QueryId> id = pending_.Add(deadline, [done, all, bytes](Answer answer) {
    all->fetch_sub(bytes);
    if (!answer.status.ok()) return done(std::move(answer.status));
    auto* reply = std::get_if<v1::StoreReply>(&answer.reply);
    if (reply == nullptr) return done(absl::InternalError("the scheduler gave an answer of the wrong kind"));
    done(std::move(*reply));
  });
  if (!id.ok()) {
    all->fetch_sub(bytes);
    return done(absl::UnavailableError(std::string(id.status().message())));
  }
  if (services_.post(StoreRequested{*id, std::move(operation), std::move(identity)}, nullptr)) return;
  pending_.Resolve(Answer{*id, absl::UnavailableError("the scheduler is busy: try again"), {}});
}

void StoreCalls::Resolve(Answer answer) {
  loop_.store(std::this_thread::get_id(), std::memory_order_relaxed);
  pending_.Resolve(std::move(answer));
}

void StoreCalls::EndTurn() {
  for (const auto& then : std::exchange(at_turn_end_, {})) then();
}

bool StoreCalls::AtTurnEnd(std::function<void()> then) {
  if (loop_.load(std::memory_order_relaxed) != std::this_thread::get_id()) return false;
  at_turn_end_.push_back(std::move(then));
  return true;
}

}  // namespace muster::scheduler
