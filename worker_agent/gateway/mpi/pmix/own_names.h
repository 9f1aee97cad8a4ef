// What own ranks publish and look up by name: one key at a time, with a text as its value (as MPI_Publish_name does).
// Thread-safe; no call waits.
#pragma once

#include <pmix_server.h>

#include "worker_agent/gateway/mpi/pmix/frames.h"

namespace muster::pmix {

// libpmix's thread. PMIX_ERR_NOT_SUPPORTED: several keys, none, or a value that is no text.
pmix_status_t PublishName(const pmix_proc_t& who, const pmix_info_t infos[], size_t count, pmix_op_cbfunc_t done,
                          void* of_done);
pmix_status_t LookUpName(const pmix_proc_t& who, char** keys, pmix_lookup_cbfunc_t done, void* of_done);
pmix_status_t UnpublishName(char** keys, pmix_op_cbfunc_t done, void* of_done);

// The main thread: the agent's answer, a kNamed. False: it is damaged.
bool AnswerName(const Frame& frame);

}  // namespace muster::pmix
