// What scripts reach the job's store by: the Python module `muster`, see docs/decisions/script-store.md.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "common/base/clock.h"
#include "common/store/job_store.h"
#include "worker_agent/gateway/chassis/begun_round.h"
#include "worker_agent/gateway/chassis/gateway.h"
#include "worker_agent/gateway/script_store/server.h"

namespace muster::agent {

class ScriptStoreGateway final : public Gateway {
 public:
  // `store`, which tells of each change what it came to (AgentStore::patient), and `clock` must outlive this.
  ScriptStoreGateway(JobStore& store, const Clock& clock) : store_(store), clock_(clock) {}

  absl::Status Begin(const GatewayRound& round) override;
  void AddTo(EnvironmentInput& input) const override;
  void WhyOver(const std::string& why) override;
  std::string Without() const override { return "scripts don't reach the job's store (muster.store())"; }

 private:
  JobStore& store_;
  const Clock& clock_;
  std::unique_ptr<script_store::Server> server_;  // of the present round, or the last one; null: none
  BegunRound begun_;
};

}  // namespace muster::agent
