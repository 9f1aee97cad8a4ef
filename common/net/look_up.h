// What a host's name stands for to other programs.
#pragma once

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "common/net/ip_address.h"

namespace muster {

// As ResolveHost (net.h), with link-local addresses. May block.
absl::StatusOr<std::vector<IpAddress>> LookUpHost(const std::string& host);

}  // namespace muster
