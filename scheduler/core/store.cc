#include "scheduler/core/store.h"

#include <utility>

#include "common/store_limits.h"

namespace muster::scheduler {

size_t BytesOf(const v1::StoredValue& value) { return StoredBytes(value.key(), value.value(), value.writer()); }

const v1::StoredValue* RunStore::Find(const std::string& key) const {
  const auto found = values_.find(key);
  return found == values_.end() ? nullptr : found->second.get();
}

void RunStore::Insert(v1::StoredValue value) {
  SharedValue& place = values_[value.key()];
  if (place != nullptr) bytes_ -= BytesOf(*place);
  bytes_ += BytesOf(value);
  place = std::make_shared<const v1::StoredValue>(std::move(value));
}

void RunStore::Put(v1::StoredValue value) {
  Insert(std::move(value));
  ++version_;
}

void RunStore::Erase(const std::string& key) {
  ++version_;
  const auto found = values_.find(key);
  if (found == values_.end()) return;
  bytes_ -= BytesOf(*found->second);
  values_.erase(found);
}

void RunStore::ClearRound() {
  std::erase_if(values_, [this](const auto& entry) {
    if (entry.second->lifetime() == v1::LIFETIME_RUN) return false;
    bytes_ -= BytesOf(*entry.second);
    return true;
  });
}

void RunStore::Clear() {
  values_.clear();
  bytes_ = 0;
}

void RunStore::Restore(const v1::StoredValue& value) { Insert(value); }

}  // namespace muster::scheduler
