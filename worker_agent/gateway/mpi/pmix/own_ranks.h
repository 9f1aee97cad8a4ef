// Requests of this agent's ranks about ranks of other nodes. No call waits.
#pragma once

#include <pmix_server.h>

#include <cstdint>

#include "worker_agent/gateway/mpi/pmix/frames.h"
#include "worker_agent/gateway/mpi/pmix/outbox.h"
#include "worker_agent/gateway/mpi/pmix/setup.h"

namespace muster::pmix {

// Names that ranks publish and look up: one key at a time, with a text as its value (like MPI_Publish_name).
// Thread-safe.

// Called on libpmix's thread. Returns PMIX_ERR_NOT_SUPPORTED for several keys, no key, or a value that is no text.
pmix_status_t PublishName(const pmix_proc_t& who, const pmix_info_t infos[], size_t count, pmix_op_cbfunc_t done,
                          void* of_done);
pmix_status_t LookUpName(const pmix_proc_t& who, char** keys, pmix_lookup_cbfunc_t done, void* of_done);
pmix_status_t UnpublishName(char** keys, pmix_op_cbfunc_t done, void* of_done);

// Takes the agent's answer (a frame of Kind::kNamed), on the main thread. Returns false if it is damaged.
bool AnswerName(const Frame& frame);

// Direct modex: a rank asks for the data of a rank on another node. It is used if the first fence carried no data (Open
// MPI with pmix_base_collect_data 0). Each ms-pmix gives its own ranks' data to its agent once, and asks it for other
// ranks' data.

// Called on the main thread. Sends the data of this agent's ranks as Kind::kModex, once libpmix has delivered all of
// them.
void GiveModex(const Setup& setup);

// Asks the agent for `rank`, unless such a request already waits. Called on libpmix's thread.
void AskModex(uint32_t rank, Pending pending);

// Takes a frame of Kind::kModexOf or kModexFailed, on the main thread. Returns false if the frame is damaged.
bool AnswerModex(const Frame& frame);

}  // namespace muster::pmix
