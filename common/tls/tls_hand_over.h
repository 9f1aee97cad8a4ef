// The TLS of a process for the child that speaks in its place: the keeper's farewell, ms-ring. It gets what its parent
// has, the certificate that was announced above all, and never reads the files anew: these may be gone, renewed or out
// of reach by then.
#pragma once

#include <optional>
#include <string>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "common/tls/tls_store.h"

namespace muster {

// Tells the child behind which descriptor it stands.
inline constexpr char kTlsHandOverVariable[] = "MUSTER_TLS_HAND_OVER_FD";

struct HandedOverTls {
  TlsSettings settings;
  std::string ciphers;
  TlsState state;
};

// What `store` has now, but with this key and certificate; at most kMaxSecretBytes. Revocation lists that take more
// than half of that are not in it: the child reads them from crl_path, and speaks to nobody if it can't.
absl::StatusOr<std::string> PackTls(const TlsStore& store, const KeyMaterial& identity);

absl::StatusOr<HandedOverTls> UnpackTls(const std::string& bytes, absl::Time now);

// What this process was handed; nothing if it was handed none. The descriptor is closed then, and the variable is gone.
// While there is one thread.
absl::StatusOr<std::optional<HandedOverTls>> TakeHandedOverTls(absl::Time now);

}  // namespace muster
