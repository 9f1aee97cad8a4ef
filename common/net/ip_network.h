// Networks of addresses: "10.0.0.0/8, fd00::/8, 192.168.1.5". Pure.
#pragma once

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "common/net/ip_address.h"

namespace muster {

struct IpNetwork {
  IpAddress address;
  unsigned bits = 0;  // the number of leading bits that all its addresses share

  bool Contains(const IpAddress& other) const;
};

// Parses networks separated by commas. An address alone is a network with one address. The error names the wrong part.
absl::StatusOr<std::vector<IpNetwork>> ParseNetworks(const std::string& text);

}  // namespace muster
