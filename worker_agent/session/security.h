// How an agent's connections are secured.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "common/ip_address.h"
#include "common/tls/tls_store.h"

namespace muster::agent {

struct Security {
  std::shared_ptr<const TlsStore> tls;  // null: plain text
  bool requires_tls = false;            // plain text to this machine only
};

// PERMISSION_DENIED when plain text may not go to one of the addresses that the host name stands for.
absl::Status CheckPlaintext(const Security& security, const std::string& host, const std::vector<IpAddress>& addresses);

}  // namespace muster::agent
