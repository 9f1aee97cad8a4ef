// Reads the peer of a gRPC call from gRPC's text, and makes and reads the call's deadline.
#pragma once

#include <grpc/support/time.h>

#include <cstdint>
#include <optional>
#include <string>

#include "absl/time/time.h"
#include "common/net/ip_address.h"

namespace muster {

struct GrpcPeer {
  IpAddress address;
  uint16_t port = 0;
};

// Parses "ipv4:10.0.0.1:8118" and "ipv6:%5B::1%5D:8118"; nullopt for anything else.
std::optional<GrpcPeer> ParseGrpcPeer(const std::string& text);

// Returns a deadline that is `left` from now. It is a time span, which gRPC adds to its own monotonic clock, so no jump
// of the wall clock changes it.
inline gpr_timespec GrpcDeadline(absl::Duration left) {
  return gpr_time_from_millis(absl::ToInt64Milliseconds(left), GPR_TIMESPAN);
}

// Returns the time left until a call's deadline; infinite if it has none.
inline absl::Duration GrpcTimeLeft(gpr_timespec deadline) {
  if (gpr_time_cmp(deadline, gpr_inf_future(deadline.clock_type)) == 0) return absl::InfiniteDuration();
  const gpr_timespec end = gpr_convert_clock_type(deadline, GPR_CLOCK_MONOTONIC);
  return absl::Milliseconds(gpr_time_to_millis(gpr_time_sub(end, gpr_now(GPR_CLOCK_MONOTONIC))));
}

}  // namespace muster
