#include "scheduler/core/state/store.h"

#include <utility>

#include "common/store/store_limits.h"

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

void StoreWaits::Add(const std::string& key, MonotonicTime deadline, QueryId query) {
  by_key_.emplace(key, query, deadline);
  by_time_.emplace(deadline, query, key);
}

std::vector<QueryId> StoreWaits::TakeWaitingFor(const std::string& key) {
  std::vector<QueryId> taken;
  auto it = by_key_.lower_bound({key, 0, MonotonicTime()});
  while (it != by_key_.end() && std::get<0>(*it) == key) {
    const auto& [same_key, query, deadline] = *it;
    taken.push_back(query);
    by_time_.erase({deadline, query, same_key});
    it = by_key_.erase(it);
  }
  return taken;
}

std::vector<QueryId> StoreWaits::TakeDue(MonotonicTime now) {
  std::vector<QueryId> taken;
  while (!by_time_.empty() && std::get<0>(*by_time_.begin()) <= now) {
    const auto& [deadline, query, key] = *by_time_.begin();
    taken.push_back(query);
    by_key_.erase({key, query, deadline});
    by_time_.erase(by_time_.begin());
  }
  return taken;
}

std::set<std::string> StoreWaits::Keys() const {
  std::set<std::string> keys;
  for (const auto& [key, query, deadline] : by_key_) keys.insert(key);
  return keys;
}

}  // namespace muster::scheduler
