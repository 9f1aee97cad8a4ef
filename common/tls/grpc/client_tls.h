// The client side of TLS for ms-worker and ms-ctl.
#pragma once

#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "common/sys/log.h"
#include "common/tls/tls_store.h"

namespace muster {

// Opens the client's TLS. Returns null if TLS is not configured, or PERMISSION_DENIED if --require_tls then forbids
// plain text to `host`. (If `host` can't be resolved now, each connection attempt checks it instead.) Must be called
// before the process first uses gRPC, while there is one thread. Sets gRPC's cipher suites, and forbids core dumps
// before a key is loaded. Logs a warning about --tls_identity=ca-only.
absl::StatusOr<std::shared_ptr<TlsStore>> OpenClientTls(const TlsSettings& settings, const PasswordSource& password,
                                                        const std::string& host, CountedLog& counted);

}  // namespace muster
