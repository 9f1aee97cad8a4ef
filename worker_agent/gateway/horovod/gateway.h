// What Horovod's processes take for horovodrun: the server at which they find each other for Gloo. Each process asks
// its own agent, on loopback, and the agents pass it on in the job's store, so no port is open to other machines.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "common/base/clock.h"
#include "common/store/job_store.h"
#include "worker_agent/gateway/chassis/begun_round.h"
#include "worker_agent/gateway/chassis/gateway.h"
#include "worker_agent/gateway/horovod/server.h"

namespace muster::agent {

class HorovodGateway final : public Gateway {
 public:
  // `store` and `clock` must outlive this.
  HorovodGateway(JobStore& store, const Clock& clock) : store_(store), clock_(clock) {}

  absl::Status Begin(const GatewayRound& round) override;
  void AddTo(EnvironmentInput& input) const override;
  void Over(uint64_t run, uint32_t round) override;
  std::string Without() const override { return "Horovod's processes don't find each other"; }

 private:
  JobStore& store_;
  const Clock& clock_;
  std::unique_ptr<horovod::Server> server_;  // of the present round; null: none
  std::vector<uint16_t> ports_;              // by slot
  BegunRound begun_;
};

}  // namespace muster::agent
