// Carries out a script's requests in the job's store. The keys below app/ are for scripts only.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "common/base/clock.h"
#include "common/store/job_store.h"
#include "worker_agent/gateway/chassis/barriers/barriers.h"
#include "worker_agent/gateway/chassis/post.h"
#include "worker_agent/gateway/script_store/request.h"

namespace muster::script_store {

// Serves one round; belongs to the gateway's thread.
class Operations {
 public:
  using Done = std::function<void(std::string line)>;

  // `store` must report each change's result (AgentStore::patient). It and `clock` must outlive the pending calls to
  // the store. `layout`: the round's workers, or the reason why there are no barriers.
  Operations(JobStore& store, const Clock& clock, agent::Post post, const absl::StatusOr<agent::TaskLayout>& layout);

  // Calls `done` once, from any thread and perhaps from inside the call, but not if the round ends first: then the
  // connection itself answers.
  void Handle(const Request& request, Done done);

  // Every 100 ms or so while IsBusy.
  void Tick();
  bool IsBusy() const { return barriers_ != nullptr && barriers_->IsBusy(); }

 private:
  void Arrive(const Request& request, Done done);

  JobStore& store_;
  const absl::Status why_no_barriers_;
  const agent::TaskLayout layout_;
  const std::unique_ptr<agent::Barriers> barriers_;  // null: there are none
};

}  // namespace muster::script_store
