// What JAX's processes take for their coordination service (jax.distributed): a port on this machine's loopback. The
// agents of a round answer together, over the job's store, so nothing is special about process 0, and no process of a
// job needs to reach another machine for it.
//
// The connection is life: a JAX process whose connection breaks ends at once. So the service is the agent's, which
// lives as long as its processes; ms-scheduler may come and go.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "common/base/clock.h"
#include "common/store/job_store.h"
#include "worker_agent/gateway/chassis/begun_round.h"
#include "worker_agent/gateway/chassis/gateway.h"
#include "worker_agent/gateway/jax/server.h"

namespace muster::agent {

class JaxGateway final : public Gateway {
 public:
  // `store` and `clock` must outlive this. The store tells what each change has come to (AgentStore::patient): a number
  // that is asked to be added to once more would be counted twice.
  JaxGateway(JobStore& store, const Clock& clock) : store_(store), clock_(clock) {}

  absl::Status Begin(const GatewayRound& round) override;
  void AddTo(EnvironmentInput& input) const override;
  void Judge(const ProcessKey& key, ProcessEnd& end) override;
  void Stopping(const std::string& why, absl::Duration limit) override;
  // Its processes are told why: their last line.
  void WhyOver(const std::string& why) override;
  std::string Without() const override { return "JAX's processes don't find each other"; }

 private:
  JobStore& store_;
  const Clock& clock_;
  std::unique_ptr<jax::Server> server_;  // of the present round; null: none
  std::vector<int32_t> tasks_;           // by slot
  BegunRound begun_;
};

}  // namespace muster::agent
