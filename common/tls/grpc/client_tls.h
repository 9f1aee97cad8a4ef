// The client side of TLS for ms-worker and ms-ctl.
#pragma once

#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "common/sys/log.h"
#include "common/tls/tls_store.h"

namespace muster {

// Returns null without TLS; then PERMISSION_DENIED if --require_tls forbids plain text to `host` (a name that can't be
// resolved now is checked at each dial). Must be called before the first use of gRPC in the process, while there is one
// thread. Sets gRPC's cipher suites, and forbids core dumps before a key is loaded. Warns (log) of
// --tls_identity=ca-only.
absl::StatusOr<std::shared_ptr<TlsStore>> OpenClientTls(const TlsSettings& settings, const PasswordSource& password,
                                                        const std::string& host, CountedLog& counted);

}  // namespace muster
