#include "worker_agent/gateway/lighthouse/gateway.h"

#include <utility>

namespace muster::agent {

absl::Status LighthouseGateway::Begin(const GatewayRound& round) {
  if (server_ != nullptr && begun_.Is(round)) return absl::OkStatus();  // some start anew
  server_.reset();
  absl::StatusOr<std::unique_ptr<lighthouse::Server>> server = lighthouse::Server::Start(
      settings_, static_cast<uint32_t>(round.assignment.slots_size()), send_, clock_, last_number_);
  if (!server.ok()) return server.status();
  server_ = *std::move(server);
  begun_.Set(round);
  return absl::OkStatus();
}

void LighthouseGateway::AddTo(EnvironmentInput& input) const {
  input.lighthouse_port = server_->PortOf(input.is_one_for_node ? 0 : input.slot);
}

void LighthouseGateway::Judge(const ProcessKey& key, ProcessEnd& /*end*/) {
  if (server_ != nullptr && begun_.IsOf(key)) server_->Ended(key.slot);
}

void LighthouseGateway::WhyOver(const std::string& why) {
  if (server_ != nullptr) server_->End(why);
}

}  // namespace muster::agent
