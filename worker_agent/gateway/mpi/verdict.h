// What the end of a rank means, seen by what it has told MPI's launcher.
#pragma once

#include "worker_agent/core/process_end.h"
#include "worker_agent/gateway/mpi/pmi1.h"

namespace muster::agent {

// Says what an abort or a refusal was, and makes a failure of an end that looks well and is none.
void JudgeMpiEnd(const MpiProgress& progress, ProcessEnd& end);

}  // namespace muster::agent
