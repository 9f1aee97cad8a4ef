// What the MindSpore processes of this agent take for their scheduler: one port for each slot, on the node's own
// address (a worker's CPU collectives listen on the address that it reaches its scheduler from), open to this machine
// only. Their heartbeats end here; their metadata goes to the job's store. No process notices whether ms-scheduler is
// there.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "common/base/clock.h"
#include "common/store/job_store.h"
#include "common/tls/tls_store.h"
#include "worker_agent/gateway/chassis/gateway.h"

namespace muster::agent {

struct MindSporeGatewayOptions {
  std::vector<uint16_t> ports;           // reserved, one for each slot
  std::shared_ptr<const TlsStore> tls;   // for scripts that call set_ps_context(enable_ssl=True); null: none
  std::function<bool()> store_has_room;  // empty: always
};

// `store` and `clock` must outlive it. Nothing listens before the first round.
std::unique_ptr<Gateway> MakeMindSporeGateway(MindSporeGatewayOptions options, JobStore& store, const Clock& clock);

}  // namespace muster::agent
