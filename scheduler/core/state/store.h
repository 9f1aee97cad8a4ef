// The values that the processes of one run share (the Store service), as part of the durable state: changed by Evolve
// alone. What is decided about a request stands in store_service.cc.
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

// Never changes once it is in a store: snapshots and readers share it.
using SharedValue = std::shared_ptr<const v1::StoredValue>;

// What it counts for.
size_t BytesOf(const v1::StoredValue& value);

class RunStore {
 public:
  // Null: no such key.
  const v1::StoredValue* Find(const std::string& key) const;

  // Replaces what is there; each counts as one change.
  void Put(v1::StoredValue value);
  void Erase(const std::string& key);

  // What was kept for the round that is over.
  void ClearRound();
  // Everything, and for good: the run has ended.
  void Clear();

  // How many changes there were. Clearing is none: whoever asks after it asks in another round.
  uint64_t version() const { return version_; }
  size_t size() const { return values_.size(); }
  size_t bytes() const { return bytes_; }  // see StoredBytes

  // In the order of their keys.
  const std::map<std::string, SharedValue>& values() const { return values_; }

  // From a snapshot.
  void Restore(const v1::StoredValue& value);
  void RestoreVersion(uint64_t version) { version_ = version; }

 private:
  void Insert(v1::StoredValue value);

  std::map<std::string, SharedValue> values_;
  size_t bytes_ = 0;
  uint64_t version_ = 0;
};

// Calls that wait for a key of a run's store. Volatile: whoever waits asks again after a crash.
class StoreWaits {
 public:
  void Add(const std::string& key, MonotonicTime deadline, QueryId query);

  // Each takes out whom it returns.
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
