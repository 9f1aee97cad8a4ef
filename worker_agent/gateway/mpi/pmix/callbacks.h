// What libpmix asks of its host, on its own thread: all of it goes to the agent, by way of the outbox.
#pragma once

#include <pmix_server.h>

#include <cstdint>

namespace muster::pmix {

// For PMIx_server_init; of a job with so many ranks. Once.
pmix_server_module_t* CallbacksOf(uint32_t job_size);

}  // namespace muster::pmix
