// Carries out scripts' requests in the job's store. Scripts' keys are stored below app/, where no other keys are.
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

// Serves one round. Only the gateway's thread may use it.
class Operations {
 public:
  using Done = std::function<void(std::string line)>;

  // `store` must report the result of each change (AgentStore::patient). It and `clock` must outlive the pending calls
  // to the store. `layout` is the round's workers, or the reason why there are no barriers.
  Operations(JobStore& store, const Clock& clock, agent::Post post, const absl::StatusOr<agent::TaskLayout>& layout);

  // Calls `done` once, in any thread, perhaps from inside this call. If the round ends before that, `done` is not
  // called, and the connection answers by itself.
  void Handle(const Request& request, Done done);

  // Call it every 100 ms or so while IsBusy.
  void Tick();
  bool IsBusy() const { return barriers_ != nullptr && barriers_->IsBusy(); }

 private:
  void Arrive(const Request& request, Done done);

  JobStore& store_;
  const absl::Status why_no_barriers_;
  const agent::TaskLayout layout_;
  const std::unique_ptr<agent::Barriers> barriers_;  // null: there are no barriers
};

}  // namespace muster::script_store
