// torchft's lighthouse for this agent's processes: TORCHFT_LIGHTHOUSE leads to a port of loopback, and what is said
// there goes on to the scheduler, where the replicas of all jobs with this lighthouse meet.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "common/base/clock.h"
#include "worker_agent/gateway/chassis/begun_round.h"
#include "worker_agent/gateway/chassis/gateway.h"
#include "worker_agent/gateway/lighthouse/server.h"

namespace muster::agent {

class LighthouseGateway final : public Gateway {
 public:
  // `clock` must outlive this.
  LighthouseGateway(lighthouse::SendReport send, const Clock& clock) : send_(std::move(send)), clock_(clock) {}
  // Before the first round.
  void SetSettings(lighthouse::Settings settings) { settings_ = std::move(settings); }

  absl::Status Begin(const GatewayRound& round) override;
  void AddTo(EnvironmentInput& input) const override;
  // The others hear of the death of a replica now, and not by its silence.
  void Judge(const ProcessKey& key, ProcessEnd& end) override;
  void WhyOver(const std::string& why) override;
  std::string Without() const override { return "torchft's processes find no lighthouse"; }

 private:
  const lighthouse::SendReport send_;
  const Clock& clock_;
  lighthouse::Settings settings_;
  uint64_t last_number_ = 0;                    // of the server's thread, while there is one
  std::unique_ptr<lighthouse::Server> server_;  // of the present round; null: none
  BegunRound begun_;
};

}  // namespace muster::agent
