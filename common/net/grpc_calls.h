// gRPC's calls: where one comes from, or goes to, as gRPC writes it; and its deadline.
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

// "ipv4:10.0.0.1:8118", "ipv6:%5B::1%5D:8118"; none of anything else.
std::optional<GrpcPeer> ParseGrpcPeer(const std::string& text);

// A deadline `left` from now on, which no jump of the wall clock moves: gRPC adds a span to its own monotonic clock.
inline gpr_timespec GrpcDeadline(absl::Duration left) {
  return gpr_time_from_millis(absl::ToInt64Milliseconds(left), GPR_TIMESPAN);
}

}  // namespace muster
