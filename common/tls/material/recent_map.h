// A map that keeps recently used entries. Pure. For one thread at a time.
#pragma once

#include <cstddef>
#include <string>
#include <utility>

#include "absl/container/flat_hash_map.h"

namespace muster {

// Keeps at most `most` entries, in two generations. When the young generation is full, it becomes the old one, and the
// former old one is dropped. Find moves an entry to the young generation.
template <typename Value>
class RecentMap {
 public:
  explicit RecentMap(size_t most) : most_(most) {}

  // Returns null if the key is not known. The result is valid until the next Find or Put.
  const Value* Find(const std::string& key) {
    if (const auto found = young_.find(key); found != young_.end()) return &found->second;
    const auto found = old_.find(key);
    if (found == old_.end()) return nullptr;
    Value value = std::move(found->second);
    old_.erase(found);
    return Put(key, std::move(value));
  }
  const Value* Put(const std::string& key, Value value) {
    if (young_.size() >= most_ / 2) old_ = std::exchange(young_, {});
    return &young_.insert_or_assign(key, std::move(value)).first->second;
  }

 private:
  const size_t most_;
  absl::flat_hash_map<std::string, Value> young_, old_;
};

}  // namespace muster
