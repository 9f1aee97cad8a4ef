// What own ranks want of those of other nodes. No call waits.
#pragma once

#include <pmix_server.h>

#include <cstdint>

#include "worker_agent/gateway/mpi/pmix/frames.h"
#include "worker_agent/gateway/mpi/pmix/outbox.h"
#include "worker_agent/gateway/mpi/pmix/setup.h"

namespace muster::pmix {

// What they publish and look up by name: one key at a time, with a text as its value (as MPI_Publish_name does).
// Thread-safe.

// libpmix's thread. PMIX_ERR_NOT_SUPPORTED: several keys, none, or a value that is no text.
pmix_status_t PublishName(const pmix_proc_t& who, const pmix_info_t infos[], size_t count, pmix_op_cbfunc_t done,
                          void* of_done);
pmix_status_t LookUpName(const pmix_proc_t& who, char** keys, pmix_lookup_cbfunc_t done, void* of_done);
pmix_status_t UnpublishName(char** keys, pmix_op_cbfunc_t done, void* of_done);

// The main thread: the agent's answer, a kNamed. False: it is damaged.
bool AnswerName(const Frame& frame);

// Direct modex: what a rank wants of one rank of another node where the first fence carried no data (Open MPI with
// pmix_base_collect_data 0). Each ms-pmix gives what its own ranks have put, once, and asks its agent for the rest.

// The main thread's. What the own ranks have put goes out as Kind::kModex, once libpmix has told it of all of them.
void GiveModex(const Setup& setup);

// libpmix's thread: `rank` is asked for, of the agent where nobody waits for it yet.
void AskModex(uint32_t rank, Pending pending);

// The main thread's: Kind::kModexOf, or kModexFailed. False: it is none.
bool AnswerModex(const Frame& frame);

}  // namespace muster::pmix
