#include "worker_agent/gateway/horovod/gateway.h"

#include <utility>

namespace muster::agent {

absl::Status HorovodGateway::Begin(const GatewayRound& round) {
  if (server_ != nullptr && begun_.Is(round)) return NoneStartsAlone("a Horovod");
  server_.reset();
  ports_.clear();
  const auto slots = static_cast<uint32_t>(round.assignment.slots_size());
  absl::StatusOr<std::unique_ptr<horovod::Server>> server = horovod::Server::Start(slots, store_, clock_);
  if (!server.ok()) return server.status();
  for (uint32_t slot = 0; slot < slots; ++slot) {
    const absl::StatusOr<uint16_t> port = (*server)->Listen(slot);
    if (!port.ok()) return port.status();
    ports_.push_back(*port);
  }
  server_ = *std::move(server);
  begun_.Set(round);
  return absl::OkStatus();
}

void HorovodGateway::AddTo(EnvironmentInput& input) const { input.horovod_port = ports_[input.slot]; }

void HorovodGateway::Over(uint64_t /*run*/, uint32_t /*round*/) { server_.reset(); }

}  // namespace muster::agent
