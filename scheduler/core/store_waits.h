// Calls that wait for a key of a run's store. Volatile: whoever waits asks again after a crash.
#pragma once

#include <cstddef>
#include <set>
#include <string>
#include <tuple>
#include <vector>

#include "common/clock.h"
#include "scheduler/core/events.h"

namespace muster::scheduler {

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
