// The values that the processes of one run share (the Store service). They are part of the durable state: only Evolve
// changes them. store_service.cc decides about requests.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <tuple>
#include <vector>

#include "common/base/clock.h"
#include "muster/v1/store.pb.h"
#include "scheduler/core/state/events.h"

namespace muster::scheduler {

// A value never changes once it is in a store, because snapshots and readers share it.
using SharedValue = std::shared_ptr<const v1::StoredValue>;

// Returns the bytes that the value counts for.
size_t BytesOf(const v1::StoredValue& value);

class RunStore {
 public:
  // Returns null if there is no such key.
  const v1::StoredValue* Find(const std::string& key) const;

  // Put replaces an existing value. Each call counts as one change.
  void Put(v1::StoredValue value);
  void Erase(const std::string& key);

  // Erases the values that were kept for the round that is over.
  void ClearRound();
  // Erases all values, for good: the run has ended.
  void Clear();

  // Returns the number of changes. ClearRound and Clear don't count: after them, all calls belong to another round.
  uint64_t version() const { return version_; }
  size_t size() const { return values_.size(); }
  size_t bytes() const { return bytes_; }  // see StoredBytes

  // Returns the values in the order of their keys.
  const std::map<std::string, SharedValue>& values() const { return values_; }

  // These two load a snapshot.
  void Restore(const v1::StoredValue& value);
  void RestoreVersion(uint64_t version) { version_ = version; }

 private:
  void Insert(v1::StoredValue value);

  std::map<std::string, SharedValue> values_;
  size_t bytes_ = 0;
  uint64_t version_ = 0;
};

// The calls that wait for a key of a run's store. A crash of the scheduler loses them; the callers then ask again.
class StoreWaits {
 public:
  void Add(const std::string& key, MonotonicTime deadline, QueryId query);

  // Each of these removes the calls that it returns.
  std::vector<QueryId> TakeWaitingFor(const std::string& key);
  std::vector<QueryId> TakeDue(MonotonicTime now);
  std::vector<QueryId> TakeAll() { return TakeDue(MonotonicTime::Never()); }

  MonotonicTime Next() const { return by_time_.empty() ? MonotonicTime::Never() : std::get<0>(*by_time_.begin()); }
  size_t size() const { return by_key_.size(); }
  std::set<std::string> Keys() const;

 private:
  std::set<std::tuple<std::string, QueryId, MonotonicTime>> by_key_;
  std::set<std::tuple<MonotonicTime, QueryId, std::string>> by_time_;
};

}  // namespace muster::scheduler
