#include "worker_agent/store/store_core.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/base/limits.h"
#include "common/store/store_limits.h"
#include "worker_agent/store/change.h"

namespace muster::agent {
namespace {

constexpr absl::Duration kLongest = absl::Milliseconds(kMaxStoreWaitMs);
constexpr absl::Duration kPatienceWithCopy = absl::Seconds(1);  // after this time a reader gets an old copy
constexpr absl::Duration kWaitSlice = absl::Seconds(1);         // after this time another key's Wait has its turn
constexpr absl::Duration kLeastSlice = absl::Milliseconds(50);
constexpr absl::Duration kPause = absl::Milliseconds(200);     // before the next request, if one may not have arrived
constexpr absl::Duration kLeastLimit = absl::Milliseconds(1);  // with less time left, a request is not sent again
constexpr size_t kPendingBytes = 128;                          // the estimated size of a change without its message

bool WasNotHeard(const absl::Status& status) {
  return absl::IsUnavailable(status) || absl::IsDeadlineExceeded(status) || absl::IsCancelled(status);
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
      effects_.callbacks.push_back([done = std::move(pending.caller.done), why] {
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
  copies_ = {};
  latest_ = 0;
  backlog_bytes_ = 0;
  change_call_ = 0;
  sent_ = alone_ = 0;
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
      const std::optional<std::string> copied = copies_.ValueOf(key);
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
  effects_.callbacks.push_back([done = std::move(reader.done), value = std::move(value)] { done(value); });
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
    // A Wait after a Delete of the same key must be sent after the Delete: otherwise it would get the old value.
    if (!foreseen || (!foreseen->has_value() && reader.waits)) {
      last.readers.push_back(std::move(reader));
      return;
    }
    return Answer(reader, *foreseen);
  }
  const CopiedValues::Copy* copy = copies_.Find(key);
  const bool has_copy = copy != nullptr;
  if (has_copy && (!is_connected_ || now < copy->good_until)) {
    return Answer(reader, std::optional<std::string>(copy->value));
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
  if (now < lane.retry_at) return;
  std::vector<std::string> ending;
  while (lane.calls.size() < kMaxUnderWay && !lane.turn.empty()) {
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
    // Request each key at least once, because it may exist. Tick ends the readers that have no time left.
    if (std::exchange(fetch->second.was_asked, true) && last - now < kLeastLimit) {
      ending.push_back(key);
      continue;
    }
    fetch->second.call = ++last_call_;
    lane.calls[fetch->second.call] = key;
    Send send{fetch->second.call, {}};
    if (&lane == &waits_) {
      v1::StoreWait request;
      *request.mutable_caller() = caller_;
      request.set_key(key);
      // If there are Waits for more keys than can be requested at once, each key gets its turn within about kWaitSlice.
      const auto turns = static_cast<int64_t>(lane.fetches.size() / kMaxUnderWay + 1);
      const absl::Duration longest = turns == 1 ? kLongest : kWaitSlice / turns;
      const absl::Duration slice = std::min(last - now, std::max(longest, kLeastSlice));
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
    copies_.Keep(key, reply->version(), value, now + kFreshFor);
    std::vector<Reader> readers = std::move(fetch->second.readers);
    lane.fetches.erase(fetch);
    for (Reader& reader : readers) Answer(reader, value);
    return;
  }
  const bool is_wait = &lane == &waits_;
  // The scheduler has no room for one more Wait of this job. It is sent again later, when other Waits have ended.
  const bool has_no_room = is_wait && absl::IsResourceExhausted(reply.status());
  if (WasNotHeard(reply.status()) || has_no_room) {
    const bool is_slice_over = is_wait && absl::IsDeadlineExceeded(reply.status());
    MonotonicTime& retry_at = has_no_room ? lane.retry_at : retry_at_;
    if (!is_slice_over) retry_at = std::max(retry_at, now + kPause);
    lane.turn.push_back(key);
    return;  // the readers go on waiting, until their deadlines
  }
  std::vector<Reader> readers = std::move(fetch->second.readers);
  lane.fetches.erase(fetch);
  for (Reader& reader : readers) Answer(reader, reply.status());
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
    status = absl::ResourceExhaustedError(
        absl::StrCat("changes of ", backlog_bytes_, " bytes wait for the scheduler already; the limit is ", most));
  }
  if (!status.ok()) {
    effects_.callbacks.push_back([done = std::move(done), status] { done(status); });
    return TakeEffects();
  }
  backlog_bytes_ += bytes;
  const MonotonicTime deadline = is_patient ? MonotonicTime::Never() : now + patience;
  pending_.push_back({std::move(change), key, bytes, 0, {}, {std::move(done), deadline}, {}});
  pending_of_[key].push_back(std::prev(pending_.end()));
  SendOn(now);
  return TakeEffects();
}

size_t StoreCore::CountBatch() const {
  if (alone_ > 0) return 1;
  BatchRoom room;
  size_t count = 0;
  for (const Pending& pending : pending_) {
    if (!room.Takes(pending.change, pending.bytes)) break;
    ++count;
  }
  return std::max<size_t>(1, count);
}

// Sends the next changes. Changes that were sent before, but may not have arrived, are sent again unchanged.
void StoreCore::SendChange(MonotonicTime now) {
  if (pending_.empty() || change_call_ != 0) return;
  if (sent_ == 0) {
    sent_ = CountBatch();
    auto pending = pending_.begin();
    for (size_t i = 0; i < sent_; ++i, ++pending) {
      pending->number = ++last_number_;
      pending->first_sent = now;
    }
  }
  change_call_ = ++last_call_;
  Send send{change_call_, {}};
  if (sent_ == 1) {
    send.operation = pending_.front().change;
  } else {
    auto& batch = send.operation.emplace<v1::StoreBatch>();
    auto pending = pending_.begin();
    for (size_t i = 0; i < sent_; ++i, ++pending) *batch.add_edits() = EditOf(pending->change);
  }
  std::visit(
      [&](auto& request) {
        *request.mutable_caller() = caller_;
        if constexpr (requires { request.set_number(uint64_t{1}); }) request.set_number(pending_.front().number);
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
  const size_t sent = std::exchange(sent_, 0);
  if (sent > 1 && !reply.ok()) {  // one of them was refused; to find out which one, send each alone
    alone_ = sent;
    auto pending = pending_.begin();
    for (size_t i = 0; i < sent; ++i, ++pending) pending->number = 0;
    return;
  }
  alone_ -= std::min(alone_, sent);
  for (size_t i = 0; i < sent; ++i) {
    absl::StatusOr<v1::StoreReply> own = reply;
    const auto* swap = std::get_if<v1::StoreCompareAndSet>(&pending_.front().change);
    if (sent > 1 && swap != nullptr) own->set_value(swap->desired());  // a batch's reply has no value
    FinishFirst(std::move(own), now);
  }
}

void StoreCore::FinishFirst(absl::StatusOr<v1::StoreReply> reply, MonotonicTime now) {
  Pending& first = pending_.front();
  if (reply.ok()) {
    for (Lane* lane : {&gets_, &waits_}) {
      if (const auto fetch = lane->fetches.find(first.key); fetch != lane->fetches.end()) {
        fetch->second.at_least = std::max(fetch->second.at_least, reply->version());
      }
    }
    // The copy ages from the first sending on: the change may have been made then, and the key changed again since.
    if (!std::holds_alternative<v1::StoreList>(first.change)) {
      copies_.Keep(first.key, reply->version(), Resulting(first.change, *reply), first.first_sent + kFreshFor);
    }
  } else {
    copies_.Forget(first.key);
    if (!first.caller.done) effects_.refused.push_back({first.key, reply.status()});
  }
  if (first.caller.done) {
    effects_.callbacks.push_back([done = std::move(first.caller.done), reply = std::move(reply)] { done(reply); });
  }
  TakeOut(pending_.begin(), now);
}

// Removes a change from the list. Reads that waited for its outcome are started again.
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
  if (holds_ > 0 || !is_connected_ || !is_in_round_ || now < retry_at_) return;
  SendChange(now);
  SendFetches(gets_, now);
  SendFetches(waits_, now);
}

StoreCore::Effects StoreCore::Release(MonotonicTime now) {
  if (--holds_ == 0) SendOn(now);
  return TakeEffects();
}

void StoreCore::Refresh() {
  copies_.Outdate(latest_);
  for (Lane* lane : {&gets_, &waits_}) {
    for (auto& [key, fetch] : lane->fetches) fetch.at_least = std::max(fetch.at_least, latest_);
  }
}

StoreCore::Effects StoreCore::Replied(uint64_t call, absl::StatusOr<v1::StoreReply> reply, MonotonicTime now) {
  const bool is_change = call != 0 && call == change_call_;
  const bool is_get = gets_.calls.contains(call), is_wait = waits_.calls.contains(call);
  if (!is_change && !is_get && !is_wait) return {};  // a reply from a former round or connection
  if (absl::IsFailedPrecondition(reply.status())) {
    End(std::string(reply.status().message()));
    return TakeEffects();
  }
  if (reply.ok()) latest_ = std::max(latest_, reply->version());
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
      const std::optional<std::string> copied = reader.takes_copy ? copies_.ValueOf(key) : std::nullopt;
      if (copied) {
        Answer(reader, copied);
      } else if (!is_connected_) {
        Answer(reader, Away());
      } else {
        Answer(reader, absl::DeadlineExceededError(reader.waits ? "the key was not set in time"
                                                                : "the scheduler did not answer in time"));
      }
      return true;
    });
  }
  // Drops the keys without readers, except those with a request in progress, which its reply will drop.
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
    effects_.callbacks.push_back([done = std::move(pending->caller.done), status] { done(status); });
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
