#include "scheduler/rpc/read_buffers.h"

#include <cstdlib>

namespace muster::scheduler {

void AllowSmallReadBuffers() { setenv("GRPC_EXPERIMENTS", "-tcp_read_chunks", /*overwrite=*/0); }

}  // namespace muster::scheduler
