// Stands in for the launcher of MPI programs: ranks start without mpirun, SSH and MPI's own daemons.
#pragma once

#include <memory>
#include <string>

#include "common/base/clock.h"
#include "common/store/job_store.h"
#include "worker_agent/gateway/chassis/gateway.h"
#include "worker_agent/launch/command/mpi_program.h"

namespace muster::agent {

struct MpiGatewayOptions {
  MpiFamily family = MpiFamily::kNone;  // the family to serve
  std::string pmix_program;             // ms-pmix; if it is missing, Open MPI can't be served
  std::string work_folder;              // absolute
};

// `store` and `clock` must outlive the gateway.
std::unique_ptr<Gateway> MakeMpiGateway(MpiGatewayOptions options, JobStore& store, const Clock& clock);

// Returns a gateway that only warns if a process has loaded an MPI library although MPI is not served. Each such
// process is then "rank 0 of 1", which looks like success.
std::unique_ptr<Gateway> MakeUnservedMpi();

}  // namespace muster::agent
