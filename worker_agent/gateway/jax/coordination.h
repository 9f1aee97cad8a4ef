// JAX's coordination service of one round, for the tasks of one agent. A task is a worker's rank. Values and barriers
// live in the job's store, which all agents of the round share. The job's process 0 is a task like the others.
//
// Source of the semantics: XLA's coordination_service.cc, and what jaxlib 0.4.30 to 0.10.2 expect.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <list>
#include <map>
#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "common/base/clock.h"
#include "common/store/job_store.h"
#include "worker_agent/gateway/chassis/barriers/barriers.h"
#include "worker_agent/gateway/chassis/post.h"
#include "worker_agent/gateway/jax/key_values.h"
#include "worker_agent/gateway/jax/request.h"

namespace muster::jax {

// A request that waits for its answer.
class HeldRequest {
 public:
  using Answer = std::function<void(absl::StatusOr<Reply> reply)>;
  explicit HeldRequest(Answer answer) : answer_(std::move(answer)) {}

  // Any thread. The first answer counts. An error's payloads are sent too.
  void Complete(absl::StatusOr<Reply> reply) {
    if (!is_over_.exchange(true)) answer_(std::move(reply));
  }
  bool is_over() const { return is_over_; }

 private:
  const Answer answer_;
  std::atomic<bool> is_over_ = false;
};
using SharedHeld = std::shared_ptr<HeldRequest>;

// Belongs to the gateway's thread.
class Coordination {
 public:
  // `incarnation` is the service's, the same on all agents of the round and in no other round. `store` and `clock` must
  // outlive the pending calls to the store.
  Coordination(JobStore& store, const Clock& clock, agent::Post post, agent::TaskLayout layout, uint64_t incarnation);

  void Handle(Request request, SharedHeld held);

  // Call it when a task's process has ended by itself, successfully.
  void Ended(int32_t task);

  // Call it when the processes get a stop signal and will be killed after `limit`; `why` is a line for people. JAX's
  // processes only pass the signal on to each other. If their scripts ask for a sync point
  // (multihost_utils.reached_preemption_sync_point), the processes agree on the step at which they stop, and run on
  // until shortly before `limit`. Otherwise Stop ends the round at once. Only the first call counts.
  void Stop(const std::string& why, absl::Duration limit);

  // Call it when the round is over. `why` is a line for people; empty: the round ended well. Answers all waiting and
  // all later requests with this end.
  void End(const std::string& why);

  void Tick();
  bool IsBusy() const { return barriers_.IsBusy() || !stop_at_.is_never(); }

 private:
  struct Task {
    uint64_t incarnation = 0;  // of its process, as registered; 0: none
    bool has_left = false;
  };

  absl::Status Check(const Request& request) const;
  void HandleTask(const Request& request, const SharedHeld& held);
  void HandleValue(const Request& request, const SharedHeld& held);
  void Arrive(agent::Arrival arrival, std::function<void(absl::Status status)> done);
  void HandleBarrier(const Request& request, const SharedHeld& held);
  void Register(const Request& request, const SharedHeld& held);
  void Heartbeat(const Request& request, const SharedHeld& held);
  void GetStates(const Request& request, const SharedHeld& held);
  void Shutdown(int32_t task, absl::Duration limit, const SharedHeld& held);
  void GetAlive(const Request& request, const SharedHeld& held);
  void Leave(int32_t task, const absl::Status& why);
  // Takes the step that a process writes after a stop signal (see kStepKey). The value 0 makes Stop end the round at
  // once.
  void NoteStep(const std::string& step);
  void DropOver();

  const Clock& clock_;
  agent::Barriers barriers_;
  KeyValues values_;
  const agent::TaskLayout layout_;
  const uint64_t incarnation_;
  std::map<int32_t, Task> tasks_;  // of this agent
  std::multimap<int32_t, SharedHeld> polls_;
  std::list<SharedHeld> held_;      // all that wait, and some that are already answered
  size_t drop_at_ = 0;              // the size at which the answered ones are removed
  bool has_no_sync_point_ = false;  // true if one of this agent's scripts has never asked for a sync point
  std::string stop_why_;
  MonotonicTime stop_at_ = MonotonicTime::Never();
  std::optional<absl::Status> end_;
};

}  // namespace muster::jax
