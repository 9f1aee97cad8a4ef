#include "tests/sim/actors/store_user.h"

#include <utility>

#include "absl/strings/numbers.h"

namespace muster::sim {
namespace {

constexpr absl::Duration kTick = absl::Milliseconds(500);
constexpr absl::Duration kMaxPause = absl::Seconds(8);
constexpr int kMaxActions = 12;  // in one round

}  // namespace

void StoreUser::BeginRound(const v1::StoreCaller& caller) {
  if (is_stopped_ || IsInRound(caller.run(), caller.round())) return;
  ++epoch_;
  is_in_round_ = true;
  caller_ = caller;
  own_ = 0;
  added_ = counted_ = 0;
  actions_ = static_cast<int>(random_.Int(0, kMaxActions));
  CarryOut(core_.BeginRound(caller));
  ActLater();
}

void StoreUser::EndRound() {
  if (!std::exchange(is_in_round_, false)) return;
  ++epoch_;
  CarryOut(core_.EndRound());
}

void StoreUser::Connect() { CarryOut(core_.Connect(Now())); }

void StoreUser::Disconnect() { CarryOut(core_.Disconnect(Now())); }

void StoreUser::Stop() {
  is_stopped_ = true;
  is_in_round_ = false;
}

void StoreUser::CarryOut(agent::StoreCore::Effects effects) {
  for (const agent::StoreCore::Send& send : effects.sends) {
    const auto operation = std::visit([](const auto& one) -> scheduler::StoreOperation { return one; }, send.operation);
    network_.CallStore(machine_, operation,
                       [self = shared_from_this(), call = send.call](absl::StatusOr<v1::StoreReply> reply) {
                         if (self->is_stopped_) return;
                         self->CarryOut(self->core_.Replied(call, std::move(reply), self->Now()));
                       });
  }
  for (const auto& callback : effects.callbacks) callback();
  TickLater();
}

void StoreUser::TickLater() {
  if (is_stopped_ || core_.IsIdle() || std::exchange(is_ticking_, true)) return;
  sim_.timeline.After(kTick, [self = shared_from_this()] {
    self->is_ticking_ = false;
    if (!self->is_stopped_) self->CarryOut(self->core_.Tick(self->Now()));
  });
}

void StoreUser::ActLater() {
  if (--actions_ < 0) return;
  sim_.timeline.After(random_.UpTo(kMaxPause), [self = shared_from_this(), epoch = epoch_] {
    if (self->is_stopped_ || self->epoch_ != epoch) return;
    const int64_t at_once = self->random_.Int(1, 4);
    for (int64_t i = 0; i < at_once; ++i) self->Act();
    self->ActLater();
  });
}

void StoreUser::Act() {
  switch (random_.Int(0, 4)) {
    case 0:
      return Set();
    case 1:
      return GetOwn();
    case 2:
    case 3:
      return Count();
    default:
      return Look();
  }
}

// Sets a key that no other agent writes.
void StoreUser::Set() {
  v1::StoreSet set;
  set.set_key(absl::StrCat("own/", incarnation_));
  set.set_value(absl::StrCat(caller_.round(), "/", ++last_value_));
  set.set_lifetime(v1::LIFETIME_ROUND);
  own_ = last_value_;
  CarryOut(core_.Change(
      std::move(set), [](const auto&) {}, Now()));
}

void StoreUser::GetOwn() {
  CarryOut(core_.Get(
      absl::StrCat("own/", incarnation_),
      [this, epoch = epoch_, then = own_](absl::StatusOr<std::optional<std::string>> value) {
        if (epoch != epoch_ || !value.ok()) return;
        // The read may or may not see a value that was set while it was in progress.
        uint64_t seen = 0;
        const std::string prefix = absl::StrCat(caller_.round(), "/");
        const bool is_of_round =
            !*value || ((*value)->rfind(prefix, 0) == 0 && absl::SimpleAtoi((*value)->substr(prefix.size()), &seen));
        sim_.Expect(is_of_round, "a node saw a value of another round");
        sim_.Expect(seen >= then && seen <= own_, "a node didn't see what it had set itself");
      },
      Now()));
}

// Adds 1 to a counter of its own: an addition that counted twice would show.
void StoreUser::Count() {
  v1::StoreAdd add;
  add.set_key(absl::StrCat("count/", incarnation_));
  add.set_delta(1);
  add.set_lifetime(v1::LIFETIME_ROUND);
  ++added_;
  CarryOut(core_.Change(
      std::move(add),
      [this, epoch = epoch_](const absl::StatusOr<v1::StoreReply>& reply) {
        if (epoch != epoch_ || !reply.ok()) return;
        sim_.Expect(reply->number() > counted_, "what a node counts fell");
        sim_.Expect(reply->number() <= added_, "a node's count is higher than what it added");
        counted_ = reply->number();
      },
      Now()));
}

// Uses keys that all agents share.
void StoreUser::Look() {
  v1::StoreCompareAndSet swap;
  swap.set_key(absl::StrCat("shared/", random_.Int(0, 2)));
  swap.set_desired(absl::StrCat(incarnation_, "/", ++last_value_));
  swap.set_lifetime(random_.Chance(0.5) ? v1::LIFETIME_RUN : v1::LIFETIME_ROUND);
  if (random_.Chance(0.4))
    return CarryOut(core_.Change(
        std::move(swap), [](const auto&) {}, Now()));
  if (random_.Chance(0.5))
    return CarryOut(core_.Get(
        swap.key(), [](const auto&) {}, Now()));
  if (random_.Chance(0.5))
    return CarryOut(core_.Wait(
        swap.key(), absl::Seconds(4), [](const auto&) {}, Now()));
  v1::StoreDelete erase;
  erase.set_key(swap.key());
  CarryOut(core_.Change(
      std::move(erase), [](const auto&) {}, Now()));
}

}  // namespace muster::sim
