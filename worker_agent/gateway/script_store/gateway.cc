#include "worker_agent/gateway/script_store/gateway.h"

#include <utility>

#include "worker_agent/gateway/chassis/round_layout.h"

namespace muster::agent {
namespace {

// The round's workers, or why there are no barriers.
absl::StatusOr<TaskLayout> Workers(const GatewayRound& round) {
  if (round.assignment.role() != v1::ROLE_WORKER) {
    return absl::UnimplementedError("they are of workers, and this is a parameter server");
  }
  if (round.peers == nullptr) {
    return absl::UnimplementedError(
        "beyond 1,024 ranks an agent knows the others only with --mindspore_gateway on: say so on every node");
  }
  const absl::StatusOr<RoundLayout> layout = LayoutOf(round);
  if (!layout.ok()) return layout.status();
  return TasksOf(*layout);
}

}  // namespace

absl::Status ScriptStoreGateway::Begin(const GatewayRound& round) {
  if (server_ != nullptr && begun_.Is(round)) return absl::OkStatus();
  server_.reset();
  absl::StatusOr<std::unique_ptr<script_store::Server>> server =
      script_store::Server::Start(static_cast<uint32_t>(round.assignment.slots_size()), store_, clock_, Workers(round));
  if (!server.ok()) return server.status();
  server_ = *std::move(server);
  begun_.Set(round);
  return absl::OkStatus();
}

void ScriptStoreGateway::AddTo(EnvironmentInput& input) const { input.script_store_port = server_->port(); }

// The server stays until its processes are gone, so that they hear the reason and not that their connection broke.
void ScriptStoreGateway::WhyOver(const std::string& why) {
  if (server_ != nullptr) server_->End(why);
}

}  // namespace muster::agent
