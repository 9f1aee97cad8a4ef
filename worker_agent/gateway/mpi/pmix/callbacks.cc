#include "worker_agent/gateway/mpi/pmix/callbacks.h"

#include <pmix.h>

#include <cstdlib>
#include <string>

#include "worker_agent/gateway/mpi/pmix/outbox.h"
#include "worker_agent/gateway/mpi/pmix/own_modex.h"
#include "worker_agent/gateway/mpi/pmix/own_names.h"

namespace muster::pmix {
namespace {

uint32_t& JobSize() {
  static uint32_t size = 0;
  return size;
}

pmix_status_t OnConnected(const pmix_proc_t* proc, void*, pmix_op_cbfunc_t, void*) {
  TheOutbox().Send(Kind::kConnected, std::to_string(proc->rank));
  return PMIX_OPERATION_SUCCEEDED;
}

pmix_status_t OnFinalized(const pmix_proc_t* proc, void*, pmix_op_cbfunc_t, void*) {
  TheOutbox().Send(Kind::kFinalized, std::to_string(proc->rank));
  return PMIX_OPERATION_SUCCEEDED;
}

// The agent ends the others.
pmix_status_t OnAbort(const pmix_proc_t* proc, void*, int status, const char message[], pmix_proc_t*, size_t,
                      pmix_op_cbfunc_t, void*) {
  const std::string text = message == nullptr ? "" : std::string(message).substr(0, 1024);
  TheOutbox().Send(Kind::kAborted, std::to_string(proc->rank) + " " + std::to_string(status) + " " + text);
  return PMIX_OPERATION_SUCCEEDED;
}

bool Collects(const pmix_info_t infos[], size_t count) {
  for (size_t i = 0; i < count; ++i) {
    if (PMIX_CHECK_KEY(&infos[i], PMIX_COLLECT_DATA)) return PMIX_INFO_TRUE(&infos[i]);
  }
  return false;
}

// All ranks of the job, or none: a fence of some would need a name that the agents know it by.
pmix_status_t OnFence(const pmix_proc_t procs[], size_t count, const pmix_info_t infos[], size_t info_count, char* data,
                      size_t size, pmix_modex_cbfunc_t done, void* of_done) {
  const bool is_of_all = (count == 1 && procs[0].rank == PMIX_RANK_WILDCARD) || count == JobSize();
  if (!is_of_all) return PMIX_ERR_NOT_SUPPORTED;
  TheOutbox().SendFence(data == nullptr ? "" : std::string(data, size), {done, of_done}, Collects(infos, info_count));
  free(data);
  return PMIX_SUCCESS;
}

pmix_status_t OnDirectModex(const pmix_proc_t* proc, const pmix_info_t*, size_t, pmix_modex_cbfunc_t done,
                            void* of_done) {
  AskModex(proc->rank, {done, of_done});
  return PMIX_SUCCESS;
}

pmix_status_t OnPublish(const pmix_proc_t* proc, const pmix_info_t infos[], size_t count, pmix_op_cbfunc_t done,
                        void* of_done) {
  return PublishName(*proc, infos, count, done, of_done);
}

pmix_status_t OnLookup(const pmix_proc_t* proc, char** keys, const pmix_info_t[], size_t, pmix_lookup_cbfunc_t done,
                       void* of_done) {
  return LookUpName(*proc, keys, done, of_done);
}

pmix_status_t OnUnpublish(const pmix_proc_t*, char** keys, const pmix_info_t[], size_t, pmix_op_cbfunc_t done,
                          void* of_done) {
  return UnpublishName(keys, done, of_done);
}

}  // namespace

pmix_server_module_t* CallbacksOf(uint32_t job_size) {
  static pmix_server_module_t module = {};
  JobSize() = job_size;
  module.client_connected = OnConnected;
  module.client_finalized = OnFinalized;
  module.abort = OnAbort;
  module.fence_nb = OnFence;
  module.direct_modex = OnDirectModex;
  module.publish = OnPublish;
  module.lookup = OnLookup;
  module.unpublish = OnUnpublish;
  return &module;
}

}  // namespace muster::pmix
