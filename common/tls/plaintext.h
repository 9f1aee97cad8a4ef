// Checks which connections without TLS a client may make under --require_tls.
#pragma once

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "common/net/ip_address.h"

namespace muster {

// Returns PERMISSION_DENIED unless all `addresses` of `host` are loopback addresses. For use if --require_tls is set
// and TLS is not configured.
absl::Status CheckPlaintext(const std::string& host, const std::vector<IpAddress>& addresses);

}  // namespace muster
