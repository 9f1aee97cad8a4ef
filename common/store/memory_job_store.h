// A job's key-value store in this process's memory: for clusters whose store the scheduler doesn't keep on disk, and
// for tests.
#pragma once

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "common/base/clock.h"
#include "common/base/mutex.h"
#include "common/store/job_store.h"

namespace muster {

// Every call except Wait is complete when it returns.
class MemoryJobStore final : public JobStore {
 public:
  explicit MemoryJobStore(const Clock& clock) : clock_(clock) {}
  ~MemoryJobStore() override;

  void Get(const std::string& key, ValueDone done) override;
  void Wait(const std::string& key, std::chrono::milliseconds limit, ValueDone done) override;
  void Set(const std::string& key, const std::string& value, Lifetime lifetime, Done done) override;
  void Delete(const std::string& key, Done done) override;
  void Add(const std::string& key, std::int64_t delta, Lifetime lifetime, NumberDone done) override;
  void CompareAndSet(const std::string& key, const std::optional<std::string>& expected, const std::string& desired,
                     Lifetime lifetime, ValueDone done) override;
  void List(const std::string& prefix, const std::string& after, std::uint32_t most, ListDone done) override;

  // Begins the next round: drops the values with the lifetime of a round.
  void BeginRound();
  // Ends waits whose time is over.
  void Tick();

 private:
  struct Value {
    std::string text;
    Lifetime lifetime = Lifetime::kRound;
  };
  struct Waiter {
    ValueDone done;
    MonotonicTime until;
  };
  using Woken = std::vector<std::pair<ValueDone, std::string>>;

  absl::Status Store(const std::string& key, const std::string& text, Lifetime lifetime, Woken& woken)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  const Clock& clock_;
  Mutex mutex_;
  std::map<std::string, Value> values_ ABSL_GUARDED_BY(mutex_);
  std::map<std::string, std::vector<Waiter>> waiters_ ABSL_GUARDED_BY(mutex_);
  size_t waiting_ ABSL_GUARDED_BY(mutex_) = 0;  // number of waiters in waiters_
  size_t bytes_ ABSL_GUARDED_BY(mutex_) = 0;
};

}  // namespace muster
