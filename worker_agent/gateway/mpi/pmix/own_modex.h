// Direct modex: what a rank wants of one rank of another node where the first fence carried no data (Open MPI with
// pmix_base_collect_data 0). Each ms-pmix gives what its own ranks have put, once, and asks its agent for the rest.
#pragma once

#include <pmix_server.h>

#include <cstdint>
#include <string>

#include "worker_agent/gateway/mpi/pmix/outbox.h"
#include "worker_agent/gateway/mpi/pmix/setup.h"

namespace muster::pmix {

// The main thread's. What the own ranks have put goes out as Kind::kModex, once libpmix has told it of all of them.
void GiveModex(const Setup& setup);

// libpmix's thread: `rank` is asked for, of the agent where nobody waits for it yet.
void AskModex(uint32_t rank, Pending pending);

// The main thread's: Kind::kModexOf, or kModexFailed. False: it is none.
bool AnswerModex(const Frame& frame);

}  // namespace muster::pmix
