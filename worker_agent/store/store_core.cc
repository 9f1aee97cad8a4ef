#include "worker_agent/store/store_core.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/base/limits.h"
#include "common/store/store_limits.h"

namespace muster::agent {
namespace {

constexpr absl::Duration kLongest = absl::Milliseconds(kLongestStoreWaitMs);
constexpr absl::Duration kPatienceWithCopy = absl::Seconds(1);  // then the copy has to do
constexpr absl::Duration kWaitSlice = absl::Seconds(1);         // then another wait has its turn
constexpr absl::Duration kLeastSlice = absl::Milliseconds(50);
constexpr absl::Duration kPause = absl::Milliseconds(200);     // after a request that was not heard
constexpr absl::Duration kLeastLimit = absl::Milliseconds(1);  // a request with less is as good as over
constexpr size_t kMostAtOnce = 32;                             // of the 128 calls that one connection may have open
constexpr size_t kPendingBytes = 128;                          // what a change takes besides key and value

const std::string& KeyOf(const StoreOperation& operation) {
  return std::visit([](const auto& request) -> const std::string& { return request.key(); }, operation);
}

bool WasNotHeard(const absl::Status& status) {
  return absl::IsUnavailable(status) || absl::IsDeadlineExceeded(status) || absl::IsCancelled(status);
}

// It may go out after its caller was told that it takes long: what it comes to does not depend on when.
bool MayGoLate(const StoreOperation& change) {
  return std::holds_alternative<v1::StoreSet>(change) || std::holds_alternative<v1::StoreDelete>(change);
}

// What the key holds once the change is made, as far as that can be told without the answer.
std::optional<std::optional<std::string>> Foreseen(const StoreOperation& change) {
  if (const auto* set = std::get_if<v1::StoreSet>(&change)) return set->value();
  if (std::holds_alternative<v1::StoreDelete>(change)) return std::optional<std::string>();
  return std::nullopt;
}

// What the key held after the change, by its answer.
std::optional<std::string> Resulting(const StoreOperation& change, const v1::StoreReply& reply) {
  if (const auto foreseen = Foreseen(change)) return *foreseen;
  if (std::holds_alternative<v1::StoreAdd>(change)) return absl::StrCat(reply.number());
  return reply.has_value() ? std::optional<std::string>(reply.value()) : std::nullopt;
}

absl::Status CheckChange(const StoreOperation& change) {
  if (absl::Status status = CheckStoreKey(KeyOf(change)); !status.ok()) return status;
  if (const auto* set = std::get_if<v1::StoreSet>(&change)) return CheckStoreValue(set->value());
  if (const auto* swap = std::get_if<v1::StoreSwap>(&change)) {
    if (absl::Status status = CheckStoreValue(swap->expected()); !status.ok()) return status;
    return CheckStoreValue(swap->desired());
  }
  return absl::OkStatus();
}

absl::Status Away() { return absl::UnavailableError("the scheduler is away, and this node has no copy of the value"); }
absl::Status RoundOver() { return absl::FailedPreconditionError("the round is over: its values are gone"); }

}  // namespace

// ------------------------------------------------------------------------------------------- rounds and connections

StoreCore::Effects StoreCore::TakeEffects() { return std::exchange(effects_, {}); }

StoreCore::Effects StoreCore::BeginRound(v1::StoreCaller caller) {
  const bool is_same = is_in_round_ && caller.SerializeAsString() == caller_.SerializeAsString();
  if (is_same) return {};
  End("another round has begun");
  if (caller.incarnation() != caller_.incarnation()) last_number_ = 0;
  caller_ = std::move(caller);
  is_in_round_ = true;
  return TakeEffects();
}

StoreCore::Effects StoreCore::EndRound() {
  End("the round is over");
  return TakeEffects();
}

void StoreCore::End(const std::string& why) {
  is_in_round_ = false;
  for (Pending& pending : pending_) {
    if (pending.caller.done) {
      effects_.told.push_back([done = std::move(pending.caller.done), why] {
        done(absl::FailedPreconditionError(absl::StrCat("the value was not written: ", why)));
      });
    }
    for (Reader& reader : pending.readers) Answer(reader, RoundOver());
  }
  for (Lane* lane : {&gets_, &waits_}) {
    for (auto& [key, fetch] : lane->fetches) {
      for (Reader& reader : fetch.readers) Answer(reader, RoundOver());
    }
    *lane = {};
  }
  pending_.clear();
  pending_of_.clear();
  copies_.clear();
  copied_bytes_ = backlog_bytes_ = 0;
  change_call_ = 0;
}

StoreCore::Effects StoreCore::Connect(MonotonicTime now) {
  LoseCalls();
  is_connected_ = true;
  retry_at_ = now;
  SendOn(now);
  return TakeEffects();
}

StoreCore::Effects StoreCore::Disconnect(MonotonicTime /*now*/) {
  LoseCalls();
  is_connected_ = false;
  for (Lane* lane : {&gets_, &waits_}) {
    for (auto& [key, fetch] : lane->fetches) {
      const std::optional<std::string> copied = Copied(key);
      if (!copied) continue;
      for (Reader& reader : std::exchange(fetch.readers, {})) Answer(reader, copied);
    }
  }
  return TakeEffects();
}

void StoreCore::LoseCalls() {
  change_call_ = 0;
  for (Lane* lane : {&gets_, &waits_}) {
    for (const auto& [call, key] : lane->calls) {
      lane->fetches.at(key).call = 0;
      lane->turn.push_back(key);
    }
    lane->calls.clear();
  }
}

// ----------------------------------------------------------------------------------------------------------- reading

void StoreCore::Answer(Reader& reader, absl::StatusOr<std::optional<std::string>> value) {
  --readers_;
  effects_.told.push_back([done = std::move(reader.done), value = std::move(value)] { done(value); });
}

std::optional<std::string> StoreCore::Copied(const std::string& key) const {
  const auto found = copies_.find(key);
  return found == copies_.end() ? std::nullopt : std::optional<std::string>(found->second.value);
}

StoreCore::Effects StoreCore::Get(const std::string& key, JobStore::ValueDone done, MonotonicTime now) {
  Read(key, Reader{std::move(done), now + kLongest}, now);
  SendOn(now);
  return TakeEffects();
}

StoreCore::Effects StoreCore::Wait(const std::string& key, absl::Duration limit, JobStore::ValueDone done,
                                   MonotonicTime now) {
  const absl::Duration bounded = std::clamp(limit, absl::ZeroDuration(), kLongest);
  Read(key, Reader{std::move(done), now + bounded, true}, now);
  SendOn(now);
  return TakeEffects();
}

void StoreCore::Read(const std::string& key, Reader reader, MonotonicTime now) {
  ++readers_;
  if (absl::Status status = CheckStoreKey(key); !status.ok()) return Answer(reader, status);
  if (!is_in_round_) return Answer(reader, RoundOver());
  if (readers_ > kMaxStoreReads) {
    return Answer(reader, absl::ResourceExhaustedError(
                              absl::StrCat(kMaxStoreReads, " reads wait for the scheduler already: try again later")));
  }
  if (const auto own = pending_of_.find(key); own != pending_of_.end()) {
    Pending& last = *own->second.back();
    const auto foreseen = Foreseen(last.change);
    // Who waits for the key after its deletion asks only when that is done, or would be told the old value.
    if (!foreseen || (!foreseen->has_value() && reader.waits)) {
      last.readers.push_back(std::move(reader));
      return;
    }
    return Answer(reader, *foreseen);
  }
  const auto copy = copies_.find(key);
  const bool has_copy = copy != copies_.end();
  if (has_copy && (!is_connected_ || now < copy->second.good_until)) {
    return Answer(reader, std::optional<std::string>(copy->second.value));
  }
  if (has_copy) {
    reader.takes_copy = true;
    reader.deadline = std::min(reader.deadline, now + kPatienceWithCopy);
  }
  Join(reader.waits ? waits_ : gets_, key, std::move(reader));
}

void StoreCore::Join(Lane& lane, const std::string& key, Reader reader) {
  const auto [fetch, is_new] = lane.fetches.try_emplace(key);
  if (is_new) lane.turn.push_back(key);
  fetch->second.readers.push_back(std::move(reader));
}

void StoreCore::SendFetches(Lane& lane, MonotonicTime now) {
  std::vector<std::string> ending;
  while (lane.calls.size() < kMostAtOnce && !lane.turn.empty()) {
    const std::string key = std::move(lane.turn.front());
    lane.turn.pop_front();
    const auto fetch = lane.fetches.find(key);
    if (fetch == lane.fetches.end() || fetch->second.call != 0) continue;
    if (fetch->second.readers.empty()) {
      lane.fetches.erase(fetch);
      continue;
    }
    MonotonicTime last = now;
    for (const Reader& reader : fetch->second.readers) last = std::max(last, reader.deadline);
    if (std::exchange(fetch->second.was_asked, true) && last - now < kLeastLimit) {  // Tick will tell them
      ending.push_back(key);
      continue;
    }
    fetch->second.call = ++last_call_;
    lane.calls[fetch->second.call] = key;
    Send send{fetch->second.call, {}, kLongest};
    if (&lane == &waits_) {
      v1::StoreWait request;
      *request.mutable_caller() = caller_;
      request.set_key(key);
      // Where more keys are waited for than can be asked for at once, each has its turn within about kWaitSlice.
      const auto turns = static_cast<int64_t>(lane.fetches.size() / kMostAtOnce + 1);
      const absl::Duration slice = std::min(last - now, std::max(kWaitSlice / turns, kLeastSlice));
      request.set_limit_ms(static_cast<uint32_t>(absl::ToInt64Milliseconds(slice)));
      send.operation = std::move(request);
    } else {
      v1::StoreGet request;
      *request.mutable_caller() = caller_;
      request.set_key(key);
      send.operation = std::move(request);
    }
    effects_.sends.push_back(std::move(send));
  }
  lane.turn.insert(lane.turn.end(), ending.begin(), ending.end());
}

void StoreCore::FinishFetch(Lane& lane, uint64_t call, const absl::StatusOr<v1::StoreReply>& reply, MonotonicTime now) {
  const std::string key = lane.calls.extract(call).mapped();
  const auto fetch = lane.fetches.find(key);
  fetch->second.call = 0;
  if (reply.ok() && reply->version() < fetch->second.at_least) {
    lane.turn.push_back(key);
    return;
  }
  if (reply.ok()) {
    const std::optional<std::string> value =
        reply->has_value() ? std::optional<std::string>(reply->value()) : std::nullopt;
    Keep(key, *reply, value, now + kFreshFor);
    std::vector<Reader> readers = std::move(fetch->second.readers);
    lane.fetches.erase(fetch);
    for (Reader& reader : readers) Answer(reader, value);
    return;
  }
  const bool goes_on = WasNotHeard(reply.status());
  if (goes_on) {
    const bool is_slice_over = &lane == &waits_ && absl::IsDeadlineExceeded(reply.status());
    if (!is_slice_over) retry_at_ = std::max(retry_at_, now + kPause);
    lane.turn.push_back(key);
    return;  // until they have no more time
  }
  std::vector<Reader> readers = std::move(fetch->second.readers);
  lane.fetches.erase(fetch);
  for (Reader& reader : readers) Answer(reader, reply.status());
}

// Of two answers the one with the higher version tells more.
void StoreCore::Keep(const std::string& key, const v1::StoreReply& reply, std::optional<std::string> value,
                     MonotonicTime good_until) {
  const auto found = copies_.find(key);
  if (found != copies_.end() && reply.version() < found->second.version) return;
  Forget(key);
  if (!value) return;
  while (!copies_.empty() &&
         (copied_bytes_ + StoredBytes(key, *value) > kMaxStoreBytes || copies_.size() >= kMaxStoreKeys)) {
    Forget(std::string(copies_.begin()->first));
  }
  copied_bytes_ += StoredBytes(key, *value);
  copies_[key] = Copy{*std::move(value), reply.version(), good_until};
}

void StoreCore::Forget(const std::string& key) {
  const auto found = copies_.find(key);
  if (found == copies_.end()) return;
  copied_bytes_ -= StoredBytes(key, found->second.value);
  copies_.erase(found);
}

// ---------------------------------------------------------------------------------------------------------- changing

StoreCore::Effects StoreCore::Change(StoreOperation change, std::function<void(absl::StatusOr<v1::StoreReply>)> done,
                                     MonotonicTime now, absl::Duration patience) {
  const std::string key = KeyOf(change);
  const size_t bytes = std::visit([](const auto& request) { return request.ByteSizeLong(); }, change) + kPendingBytes;
  absl::Status status = CheckChange(change);
  if (status.ok() && !is_in_round_) status = RoundOver();
  const bool is_patient = patience == absl::InfiniteDuration();
  const size_t most = is_patient ? kMaxPatientBacklogBytes : kMaxStoreBacklogBytes;
  if (status.ok() && backlog_bytes_ + bytes > most) {
    status = absl::ResourceExhaustedError(absl::StrCat(
        "changes of ", backlog_bytes_, " bytes wait for the scheduler already, and at most ", most, " may"));
  }
  if (!status.ok()) {
    effects_.told.push_back([done = std::move(done), status] { done(status); });
    return TakeEffects();
  }
  backlog_bytes_ += bytes;
  const MonotonicTime deadline = is_patient ? MonotonicTime::Never() : now + patience;
  pending_.push_back({std::move(change), key, bytes, 0, {}, {std::move(done), deadline}, {}});
  pending_of_[key].push_back(std::prev(pending_.end()));
  SendOn(now);
  return TakeEffects();
}

void StoreCore::SendChange(MonotonicTime now) {
  if (pending_.empty() || change_call_ != 0) return;
  Pending& first = pending_.front();
  if (first.number == 0) {
    first.number = ++last_number_;
    first.first_sent = now;
  }
  change_call_ = ++last_call_;
  Send send{change_call_, first.change, kLongest};
  std::visit(
      [&](auto& request) {
        *request.mutable_caller() = caller_;
        if constexpr (requires { request.set_number(first.number); }) request.set_number(first.number);
      },
      send.operation);
  effects_.sends.push_back(std::move(send));
}

void StoreCore::FinishChange(absl::StatusOr<v1::StoreReply> reply, MonotonicTime now) {
  change_call_ = 0;
  if (!reply.ok() && WasNotHeard(reply.status())) {
    retry_at_ = std::max(retry_at_, now + kPause);
    return;
  }
  Pending& first = pending_.front();
  if (reply.ok()) {
    for (Lane* lane : {&gets_, &waits_}) {
      if (const auto fetch = lane->fetches.find(first.key); fetch != lane->fetches.end()) {
        fetch->second.at_least = reply->version();
      }
    }
    // Of one that was asked for again it is not known when it was made; others may have changed the key since.
    if (!std::holds_alternative<v1::StoreList>(first.change)) {
      Keep(first.key, *reply, Resulting(first.change, *reply), first.first_sent + kFreshFor);
    }
  } else {
    Forget(first.key);
    if (!first.caller.done) effects_.refused.push_back({first.key, reply.status()});
  }
  if (first.caller.done) {
    effects_.told.push_back([done = std::move(first.caller.done), reply = std::move(reply)] { done(reply); });
  }
  TakeOut(pending_.begin(), now);
}

// Who waited for what it comes to asks again.
void StoreCore::TakeOut(std::list<Pending>::iterator pending, MonotonicTime now) {
  auto& of_key = pending_of_[pending->key];
  std::erase(of_key, pending);
  if (of_key.empty()) pending_of_.erase(pending->key);
  backlog_bytes_ -= pending->bytes;
  const std::string key = std::move(pending->key);
  std::vector<Reader> readers = std::move(pending->readers);
  pending_.erase(pending);
  for (Reader& reader : readers) {
    --readers_;
    Read(key, std::move(reader), now);
  }
}

// -------------------------------------------------------------------------------------------------- replies and time

void StoreCore::SendOn(MonotonicTime now) {
  if (!is_connected_ || !is_in_round_ || now < retry_at_) return;
  SendChange(now);
  SendFetches(gets_, now);
  SendFetches(waits_, now);
}

StoreCore::Effects StoreCore::Replied(uint64_t call, absl::StatusOr<v1::StoreReply> reply, MonotonicTime now) {
  const bool is_change = call != 0 && call == change_call_;
  const bool is_get = gets_.calls.contains(call), is_wait = waits_.calls.contains(call);
  if (!is_change && !is_get && !is_wait) return {};  // of another round or connection
  if (absl::IsFailedPrecondition(reply.status())) {
    End(std::string(reply.status().message()));
    return TakeEffects();
  }
  if (is_get) FinishFetch(gets_, call, reply, now);
  if (is_wait) FinishFetch(waits_, call, reply, now);
  if (is_change) FinishChange(std::move(reply), now);
  SendOn(now);
  return TakeEffects();
}

void StoreCore::ExpireReaders(Lane& lane, MonotonicTime now) {
  for (auto& [key, fetch] : lane.fetches) {
    std::erase_if(fetch.readers, [&, &key = key](Reader& reader) {
      if (now < reader.deadline) return false;
      const std::optional<std::string> copied = reader.takes_copy ? Copied(key) : std::nullopt;
      if (copied) {
        Answer(reader, copied);
      } else if (!is_connected_) {
        Answer(reader, Away());
      } else {
        Answer(reader, absl::DeadlineExceededError(reader.waits ? "the key did not come in time"
                                                                : "the scheduler did not answer in time"));
      }
      return true;
    });
  }
  // Keys that nobody asks for any more; one whose call is under way goes with its reply.
  const size_t unasked = std::erase_if(
      lane.fetches, [](const auto& entry) { return entry.second.readers.empty() && entry.second.call == 0; });
  if (unasked > 0) std::erase_if(lane.turn, [&](const std::string& key) { return !lane.fetches.contains(key); });
}

void StoreCore::ExpireChanges(MonotonicTime now) {
  for (auto it = pending_.begin(); it != pending_.end();) {
    const auto pending = it++;
    std::erase_if(pending->readers, [&](Reader& reader) {
      if (now < reader.deadline) return false;
      Answer(reader, absl::DeadlineExceededError("an earlier change of the key was not answered in time"));
      return true;
    });
    if (!pending->caller.done || now < pending->caller.deadline) continue;
    const bool never_goes = pending->number == 0 && !MayGoLate(pending->change);
    absl::Status status =
        never_goes ? absl::UnavailableError("the scheduler is away: nothing was changed")
                   : absl::DeadlineExceededError("the scheduler did not answer in time; the change may still be made");
    effects_.told.push_back([done = std::move(pending->caller.done), status] { done(status); });
    pending->caller.done = nullptr;
    if (never_goes) TakeOut(pending, now);
  }
}

StoreCore::Effects StoreCore::Tick(MonotonicTime now) {
  ExpireReaders(gets_, now);
  ExpireReaders(waits_, now);
  ExpireChanges(now);
  SendOn(now);
  return TakeEffects();
}

}  // namespace muster::agent
