#include "worker_agent/gateway/script_store/gateway.h"

#include <utility>

#include "worker_agent/gateway/round_layout.h"

namespace muster::agent {

absl::Status ScriptStoreGateway::Begin(const GatewayRound& round) {
  if (server_ != nullptr && run_ == round.run && round_ == round.round) return absl::OkStatus();
  server_.reset();
  const absl::StatusOr<RoundLayout> layout = LayoutOf(round);
  const auto tasks = layout.ok() ? absl::StatusOr<TaskLayout>(TasksOf(*layout)) : layout.status();
  absl::StatusOr<std::unique_ptr<script_store::Server>> server =
      script_store::Server::Start(static_cast<uint32_t>(round.assignment.slots_size()), store_, clock_, tasks);
  if (!server.ok()) return server.status();
  server_ = *std::move(server);
  run_ = round.run;
  round_ = round.round;
  return absl::OkStatus();
}

void ScriptStoreGateway::AddTo(EnvironmentInput& input) const { input.script_store_port = server_->port(); }

// The server stays until its processes are gone, so that they hear the reason and not that their connection broke.
void ScriptStoreGateway::WhyOver(const std::string& why) {
  if (server_ != nullptr) server_->End(why);
}

}  // namespace muster::agent
