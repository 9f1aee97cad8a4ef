// A map that keeps the most recently used entries. Pure; its owner's thread.
#pragma once

#include <cstddef>
#include <string>
#include <utility>

#include "absl/container/flat_hash_map.h"

namespace muster {

// Holds at most `most` entries, in two generations: when the young one is full, the old one is forgotten.
template <typename Value>
class RecentMap {
 public:
  explicit RecentMap(size_t most) : most_(most) {}

  // Returns null if the key is not known. Valid until the next Find or Put.
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
