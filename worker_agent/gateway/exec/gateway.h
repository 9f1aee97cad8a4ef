// Remote commands for launchers that start a job's ranks themselves (--per_job --allow_exec -- mpirun …): the command
// runs on the first node, and this is what its launch agent, found as ssh and by Open MPI's, PRRTE's and Hydra's own
// words, reaches the other nodes through.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "common/base/clock.h"
#include "common/store/job_store.h"
#include "common/tls/tls_store.h"
#include "worker_agent/gateway/chassis/gateway.h"
#include "worker_agent/gateway/exec/told_commands.h"

namespace muster::exec {

struct Options {
  std::string program;      // ms-exec
  std::string work_folder;  // of the agent
  std::shared_ptr<const TlsStore> tls;
  uint16_t port = 0;  // reserved, and told at the join
  Teller tell;        // called by a thread of the gateway's, as long as it lives
};

// Listens from now on, and serves nobody before a round begins. `store` and `clock` must outlive it.
absl::StatusOr<std::unique_ptr<agent::Gateway>> MakeGateway(Options options, JobStore& store, const Clock& clock);

}  // namespace muster::exec
