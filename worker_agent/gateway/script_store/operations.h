// What a script's request comes to in the job's store. Scripts have the keys below app/ to themselves.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "common/base/clock.h"
#include "common/store/job_store.h"
#include "worker_agent/gateway/chassis/barriers/barriers.h"
#include "worker_agent/gateway/chassis/strand.h"
#include "worker_agent/gateway/script_store/request.h"

namespace muster::script_store {

// Of one round, and of the strand's thread.
class Operations {
 public:
  using Done = std::function<void(std::string line)>;

  // `store` tells of each change what it came to (AgentStore::patient). It and `clock` outlive what is asked of the
  // store. `layout`: of the round's workers, or why there are no barriers.
  Operations(JobStore& store, const Clock& clock, agent::Post post, const absl::StatusOr<agent::TaskLayout>& layout);

  // `done` is called once, by any thread and maybe from inside the call; not where the round ends before, which End
  // tells.
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
