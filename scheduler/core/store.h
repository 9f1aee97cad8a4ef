// The values that the processes of one run share (the Store service), as part of the durable state: changed by Evolve
// alone. What is decided about a request stands in storing.cc.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "muster/v1/store.pb.h"

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

}  // namespace muster::scheduler
