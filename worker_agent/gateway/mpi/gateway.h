// What MPI programs take for their launcher: ranks start with no mpirun, no SSH and no daemons of MPI's own.
#pragma once

#include <memory>
#include <string>

#include "common/base/clock.h"
#include "common/store/job_store.h"
#include "worker_agent/gateway/chassis/gateway.h"
#include "worker_agent/launch/command/mpi_program.h"

namespace muster::agent {

struct MpiGatewayOptions {
  MpiFamily family = MpiFamily::kNone;  // what is served
  std::string pmix_program;             // ms-pmix; not there: Open MPI can't be served
  std::string work_folder;              // absolute
};

// `store` and `clock` must outlive it.
std::unique_ptr<Gateway> MakeMpiGateway(MpiGatewayOptions options, JobStore& store, const Clock& clock);

// Warns where MPI is served to nobody and a process has loaded an MPI library all the same: each is then "rank 0 of 1",
// which looks like success.
std::unique_ptr<Gateway> MakeUnservedMpi();

}  // namespace muster::agent
