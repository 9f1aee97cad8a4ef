// JAX's coordination service of one round, for the tasks of one agent: what each request is answered. A task is a
// worker's rank. Its values and barriers live in the job's store, which all agents of the round share; the process 0 of
// the job is a task like the others.
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
#include "worker_agent/gateway/chassis/strand.h"
#include "worker_agent/gateway/jax/key_values.h"
#include "worker_agent/gateway/jax/request.h"

namespace muster::jax {

// One request that waits for its answer.
class HeldRequest {
 public:
  using Answer = std::function<void(absl::StatusOr<Reply> reply)>;
  explicit HeldRequest(Answer answer) : answer_(std::move(answer)) {}

  // Any thread. The first one counts. An error's payloads are told, too.
  void Tell(absl::StatusOr<Reply> reply) {
    if (!is_over_.exchange(true)) answer_(std::move(reply));
  }
  bool is_over() const { return is_over_; }

 private:
  const Answer answer_;
  std::atomic<bool> is_over_ = false;
};
using SharedHeld = std::shared_ptr<HeldRequest>;

// Of the strand's thread.
class Coordination {
 public:
  // `incarnation` is the service's, the same on all agents of the round and in no other. `store` and `clock` outlive
  // what is asked of the store.
  Coordination(JobStore& store, const Clock& clock, agent::Post post, agent::TaskLayout layout, uint64_t incarnation);

  void Handle(Request request, SharedHeld held);

  // A task's process has ended by itself, and well.
  void Ended(int32_t task);

  // The processes have been sent a stop signal, `why` in a line for people, and are killed after `limit`. JAX's take no
  // notice of the signal but for telling all others of it; those whose script asks for a sync point
  // (multihost_utils.reached_preemption_sync_point) then agree on the step at which they stop, for which they are left
  // in peace until shortly before `limit`. For the others it is the end of the round. The first one counts.
  void Stop(const std::string& why, absl::Duration limit);

  // The round is over, `why` in a line for people; empty: it ended well. Everything that waits is told, and so is what
  // comes later.
  void End(const std::string& why);

  void Tick();
  bool IsBusy() const { return barriers_.IsBusy() || !stop_at_.is_never(); }

 private:
  struct Task {
    uint64_t incarnation = 0;  // of its process, as that has registered; 0: none has
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
  // A process tells at which step it is, for all to find a step at which they stop.
  void NoteStep(const std::string& step);
  void DropOver();

  const Clock& clock_;
  agent::Barriers barriers_;
  KeyValues values_;
  const agent::TaskLayout layout_;
  const uint64_t incarnation_;
  std::map<int32_t, Task> tasks_;  // of this agent
  std::multimap<int32_t, SharedHeld> polls_;
  std::list<SharedHeld> held_;      // all that wait, and some that don't any more
  size_t drop_at_ = 0;              // how many there are when those go
  bool has_no_sync_point_ = false;  // one of this agent's scripts has never asked for one
  std::string stop_why_;
  MonotonicTime stop_at_ = MonotonicTime::Never();
  std::optional<absl::Status> end_;
};

}  // namespace muster::jax
