// How ms-worker and ms-ctl open their side of TLS.
#pragma once

#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "common/sys/log.h"
#include "common/tls/tls_store.h"

namespace muster {

// Null without TLS; then PERMISSION_DENIED if --require_tls forbids plain text to `host` (a name that can't be resolved
// now is for each dial to look at). Before the first use of gRPC in the process, and while there is one thread: tells
// gRPC the cipher suites, and forbids core dumps from before a key is loaded. Warns (log) of --tls_identity=ca-only.
absl::StatusOr<std::shared_ptr<TlsStore>> OpenClientTls(const TlsSettings& settings, const PasswordSource& password,
                                                        const std::string& host, CountedLog& counted);

}  // namespace muster
