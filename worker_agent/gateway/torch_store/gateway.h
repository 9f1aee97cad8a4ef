// PyTorch's store of the job: in the agent of rank 0's node, at MASTER_PORT, with an empty one for each round. All
// processes are clients (TORCHELASTIC_USE_AGENT_STORE=True), so none has to bind a port, and none takes it along when
// it dies. The agents of other nodes only tell their processes so.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "common/base/clock.h"
#include "common/net/ip_network.h"
#include "worker_agent/gateway/gateway.h"
#include "worker_agent/gateway/torch_store/server.h"

namespace muster::agent {

struct TorchStoreOptions {
  std::vector<IpNetwork> networks;     // served besides the machines of the round
  std::vector<uint16_t> script_ports;  // see PortsOfScript
};

class TorchStoreGateway final : public Gateway {
 public:
  // `clock` must outlive this.
  TorchStoreGateway(TorchStoreOptions options, const Clock& clock) : options_(std::move(options)), clock_(clock) {}

  // On rank 0's node the store listens from then on.
  absl::Status Begin(const GatewayRound& round) override;
  void AddTo(EnvironmentInput& input) const override { input.has_torch_store = has_store_; }
  void Over(uint64_t run, uint32_t round) override;
  std::string Without() const override { return "rank 0 of a PyTorch job hosts its store itself"; }

 private:
  absl::Status Serve(const GatewayRound& round);
  absl::Status ListenWhereTheScriptSays(torch_store::Server& server, uint16_t master_port) const;

  const TorchStoreOptions options_;
  const Clock& clock_;
  bool has_store_ = false;  // in this round, somewhere
  uint64_t run_ = 0;        // whose store server_ is
  uint32_t round_ = 0;
  std::unique_ptr<torch_store::Server> server_;  // null: not here, or not now
};

}  // namespace muster::agent
