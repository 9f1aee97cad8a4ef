// The job's store for a listener inside ms-scheduler: straight to the loop.
#pragma once

#include <string>

#include "common/job_store.h"
#include "scheduler/rpc/store_calls.h"

namespace muster::scheduler {

// For one node in one round: when that is over every call ends with kFailedPrecondition, and the listener makes the
// next one. Every read asks the core, so it sees the latest value; calls take effect in the order in which they are
// made, whoever makes them. `done` is called by the loop's thread, or from inside the call. A Wait of more than
// kLongestStoreWaitMs is one of that.
class LoopJobStore : public JobStore {
 public:
  // `calls` is not owned. What is under way when this goes is still answered.
  LoopJobStore(StoreCalls& calls, v1::StoreCaller caller, std::string identity = "");

  void Get(const std::string& key, ValueDone done) override;
  void Wait(const std::string& key, std::chrono::milliseconds limit, ValueDone done) override;
  void Set(const std::string& key, const std::string& value, Lifetime lifetime, Done done) override;
  void Delete(const std::string& key, Done done) override;
  void Add(const std::string& key, std::int64_t delta, Lifetime lifetime, NumberDone done) override;
  void CompareAndSet(const std::string& key, const std::optional<std::string>& expected, const std::string& desired,
                     Lifetime lifetime, ValueDone done) override;

 private:
  template <typename Request>
  Request New(const std::string& key) const;

  StoreCalls& calls_;
  const v1::StoreCaller caller_;
  const std::string identity_;
};

}  // namespace muster::scheduler
