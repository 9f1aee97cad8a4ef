// The round, as libpmix is told of it.
//
// An agent is a node to PMIx: what ranks share within a node (memory, files) goes through their server. So two agents
// of one machine are two nodes, with TCP between them.
#pragma once

#include <string>

#include "worker_agent/gateway/mpi/pmix/setup.h"

namespace muster::pmix {

// Once, in this order. What went wrong; null: nothing.
const char* StartServer(const Setup& setup);
const char* RegisterJob(const Setup& setup);

// What each slot's process finds in its environment, as in Kind::kReady; empty and `why` if a rank can't be registered.
std::string Environments(const Setup& setup, std::string& why);

}  // namespace muster::pmix
