// The connections that --require_tls forbids a client.
#pragma once

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "common/net/ip_address.h"

namespace muster {

// PERMISSION_DENIED unless all `addresses` of `host` belong to this machine's loopback. To be called if --require_tls
// is set and there is no TLS configuration.
absl::Status CheckPlaintext(const std::string& host, const std::vector<IpAddress>& addresses);

}  // namespace muster
