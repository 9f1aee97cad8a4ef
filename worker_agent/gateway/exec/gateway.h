// Remote commands for launchers that start a job's ranks themselves (--per_job --allow_exec -- mpirun …). The job's
// command runs on the first node. The launcher in it reaches the other nodes through this gateway's launch agent,
// ms-exec. It finds the launch agent as ssh in PATH, and through the settings of Open MPI, PRRTE and Hydra.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "common/base/clock.h"
#include "common/store/job_store.h"
#include "common/tls/tls_store.h"
#include "worker_agent/gateway/chassis/gateway.h"
#include "worker_agent/gateway/exec/command_reports.h"

namespace muster::exec {

struct Options {
  std::string program;      // ms-exec
  std::string work_folder;  // the agent's
  std::shared_ptr<const TlsStore> tls;
  uint16_t port = 0;            // reserved, and announced at the join
  CommandSink report_commands;  // called by a thread of the gateway, until the gateway's end
};

// The gateway listens at once, but serves no request before a round begins. `store` and `clock` must outlive it.
absl::StatusOr<std::unique_ptr<agent::Gateway>> MakeGateway(Options options, JobStore& store, const Clock& clock);

}  // namespace muster::exec
