#include "common/store/memory_job_store.h"

#include <algorithm>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "common/base/limits.h"
#include "common/base/text.h"
#include "common/store/store_limits.h"

namespace muster {
namespace {

void Wake(const std::vector<std::pair<JobStore::ValueDone, std::string>>& woken) {
  for (const auto& [done, text] : woken) done(std::optional<std::string>(text));
}

}  // namespace

MemoryJobStore::~MemoryJobStore() {
  std::map<std::string, std::vector<Waiter>> waiters;
  {
    const MutexLock lock(mutex_);
    waiters.swap(waiters_);
  }
  for (const auto& [key, list] : waiters) {
    for (const Waiter& waiter : list) waiter.done(absl::UnavailableError("the store is closed"));
  }
}

absl::Status MemoryJobStore::Store(const std::string& key, const std::string& text, Lifetime lifetime, Woken& woken) {
  if (absl::Status status = CheckStoreValue(text); !status.ok()) return status;
  const auto found = values_.find(key);
  const size_t old_bytes = found == values_.end() ? 0 : StoredBytes(key, found->second.text);
  const size_t new_bytes = bytes_ - old_bytes + StoredBytes(key, text);
  if (new_bytes > kMaxStoreBytes || (found == values_.end() && values_.size() >= kMaxStoreKeys)) {
    return absl::ResourceExhaustedError(
        absl::StrCat("the job's store is full: ", values_.size(), " keys, ", bytes_, " bytes"));
  }
  bytes_ = new_bytes;
  values_[key] = {text, lifetime};
  if (const auto waiters = waiters_.find(key); waiters != waiters_.end()) {
    for (Waiter& waiter : waiters->second) woken.emplace_back(std::move(waiter.done), text);
    waiting_ -= waiters->second.size();
    waiters_.erase(waiters);
  }
  return absl::OkStatus();
}

void MemoryJobStore::Get(const std::string& key, ValueDone done) {
  if (const absl::Status status = CheckStoreKey(key); !status.ok()) return done(status);
  std::optional<std::string> value;
  {
    const MutexLock lock(mutex_);
    const auto found = values_.find(key);
    if (found != values_.end()) value = found->second.text;
  }
  done(std::move(value));
}

void MemoryJobStore::Wait(const std::string& key, std::chrono::milliseconds limit, ValueDone done) {
  absl::Status status = CheckStoreKey(key);
  if (!status.ok()) return done(status);
  std::optional<std::string> value;
  {
    const MutexLock lock(mutex_);
    const auto found = values_.find(key);
    if (found != values_.end()) {
      value = found->second.text;
    } else if (waiting_ >= kMaxStoreWaits) {
      status = absl::ResourceExhaustedError(
          absl::StrCat("more than ", kMaxStoreWaits, " requests wait for keys of the job's store"));
    } else {
      const auto longest = std::min(limit, std::chrono::milliseconds(kMaxStoreWaitMs));
      waiters_[key].push_back({std::move(done), clock_.Read().monotonic + absl::FromChrono(longest)});
      ++waiting_;
      return;
    }
  }
  if (!status.ok()) return done(status);
  done(std::move(value));
}

void MemoryJobStore::Set(const std::string& key, const std::string& value, Lifetime lifetime, Done done) {
  absl::Status status = CheckStoreKey(key);
  Woken woken;
  if (status.ok()) {
    const MutexLock lock(mutex_);
    status = Store(key, value, lifetime, woken);
  }
  Wake(woken);
  done(status);
}

void MemoryJobStore::Delete(const std::string& key, Done done) {
  const absl::Status status = CheckStoreKey(key);
  if (status.ok()) {
    const MutexLock lock(mutex_);
    const auto found = values_.find(key);
    if (found != values_.end()) {
      bytes_ -= StoredBytes(key, found->second.text);
      values_.erase(found);
    }
  }
  done(status);
}

void MemoryJobStore::Add(const std::string& key, std::int64_t delta, Lifetime lifetime, NumberDone done) {
  absl::Status status = CheckStoreKey(key);
  int64_t sum = 0;
  Woken woken;
  if (status.ok()) {
    const MutexLock lock(mutex_);
    const auto found = values_.find(key);
    int64_t before = 0;
    if ((found != values_.end() && !absl::SimpleAtoi(found->second.text, &before)) ||
        __builtin_add_overflow(before, delta, &sum)) {
      status = absl::InvalidArgumentError(
          absl::StrCat("the value of ", Quoted(key), " is no number that ", delta, " can be added to"));
    } else {
      status = Store(key, absl::StrCat(sum), lifetime, woken);
    }
  }
  Wake(woken);
  if (!status.ok()) return done(status);
  done(sum);
}

void MemoryJobStore::CompareAndSet(const std::string& key, const std::optional<std::string>& expected,
                                   const std::string& desired, Lifetime lifetime, ValueDone done) {
  absl::Status status = CheckStoreKey(key);
  std::optional<std::string> now;
  Woken woken;
  if (status.ok()) {
    const MutexLock lock(mutex_);
    const auto found = values_.find(key);
    if (found != values_.end()) now = found->second.text;
    if (now == expected) {
      status = Store(key, desired, lifetime, woken);
      now = desired;
    }
  }
  Wake(woken);
  if (!status.ok()) return done(status);
  done(std::move(now));
}

void MemoryJobStore::List(const std::string& prefix, const std::string& after, std::uint32_t most, ListDone done) {
  if (const absl::Status status = CheckStoreKey(prefix); !status.ok()) return done(status);
  Listing listing;
  {
    const MutexLock lock(mutex_);
    const size_t limit = most == 0 ? kMaxStoreListKeys : std::min<size_t>(most, kMaxStoreListKeys);
    size_t bytes = 0;
    for (auto it = values_.lower_bound(prefix); it != values_.end() && absl::StartsWith(it->first, prefix); ++it) {
      if (it->first <= after) continue;
      bytes += StoredBytes(it->first, it->second.text);
      listing.has_more = listing.entries.size() >= limit || (!listing.entries.empty() && bytes > kMaxStoreListBytes);
      if (listing.has_more) break;
      listing.entries.emplace_back(it->first, it->second.text);
    }
  }
  done(std::move(listing));
}

void MemoryJobStore::BeginRound() {
  const MutexLock lock(mutex_);
  for (auto it = values_.begin(); it != values_.end();) {
    if (it->second.lifetime == Lifetime::kRound) {
      bytes_ -= StoredBytes(it->first, it->second.text);
      it = values_.erase(it);
    } else {
      ++it;
    }
  }
}

void MemoryJobStore::Tick() {
  std::vector<ValueDone> expired;
  {
    const MutexLock lock(mutex_);
    const MonotonicTime now = clock_.Read().monotonic;
    for (auto it = waiters_.begin(); it != waiters_.end();) {
      std::erase_if(it->second, [&](Waiter& waiter) {
        if (waiter.until > now) return false;
        expired.push_back(std::move(waiter.done));
        return true;
      });
      it = it->second.empty() ? waiters_.erase(it) : std::next(it);
    }
    waiting_ -= expired.size();
  }
  for (const ValueDone& done : expired) done(absl::DeadlineExceededError("the key was not set in time"));
}

}  // namespace muster
