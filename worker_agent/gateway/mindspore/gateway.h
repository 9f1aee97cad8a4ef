// What the MindSpore processes of this agent take for their scheduler: one port for each slot, on the node's own
// address (a worker's CPU collectives listen on the address that it reaches its scheduler from), open to this machine
// only. Their heartbeats end here; their metadata goes to the job's store. No process notices whether ms-scheduler is
// there.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "common/base/clock.h"
#include "common/mindspore/server.h"
#include "common/store/job_store.h"
#include "common/tls/tls_store.h"
#include "worker_agent/gateway/chassis/gateway.h"
#include "worker_agent/gateway/mindspore/slots.h"

namespace muster::agent {

struct MindSporeGatewayOptions {
  std::vector<uint16_t> ports;           // reserved, one for each slot
  std::shared_ptr<const TlsStore> tls;   // for scripts that call set_ps_context(enable_ssl=True); null: none
  std::function<bool()> store_has_room;  // empty: always
};

class MindSporeGateway final : public Gateway {
 public:
  // `store` and `clock` must outlive this. Nothing listens before the first round.
  MindSporeGateway(MindSporeGatewayOptions options, JobStore& store, const Clock& clock);

  // From then on the ports are open at the round's own address.
  absl::Status Begin(const GatewayRound& round) override;
  void AddTo(EnvironmentInput& input) const override;
  std::string Without() const override { return "MindSpore processes are told the scheduler's address"; }

 private:
  const MindSporeGatewayOptions options_;
  const Clock& clock_;
  MindSporeSlots slots_;
  std::unique_ptr<mindspore::Server> server_;  // asks slots_
  std::string address_;                        // where all ports it listens; empty: nowhere
};

}  // namespace muster::agent
