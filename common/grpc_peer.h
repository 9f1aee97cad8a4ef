// Where a call comes from, or goes to, as gRPC writes it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "common/ip_address.h"

namespace muster {

struct GrpcPeer {
  IpAddress address;
  uint16_t port = 0;
};

// "ipv4:10.0.0.1:8118", "ipv6:%5B::1%5D:8118"; none of anything else.
std::optional<GrpcPeer> ParseGrpcPeer(const std::string& text);

}  // namespace muster
