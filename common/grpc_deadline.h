// Deadlines for gRPC that no jump of the wall clock moves: gRPC adds a span to its own monotonic clock.
#pragma once

#include <grpc/support/time.h>

#include "absl/time/time.h"

namespace muster {

// `left` from now on.
inline gpr_timespec GrpcDeadline(absl::Duration left) {
  return gpr_time_from_millis(absl::ToInt64Milliseconds(left), GPR_TIMESPAN);
}

}  // namespace muster
