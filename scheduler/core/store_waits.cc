#include "scheduler/core/store_waits.h"

namespace muster::scheduler {

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
