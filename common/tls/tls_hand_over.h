// The TLS of a process for a child that speaks in its place: the keeper's last report, ms-ring. The child gets the
// parent's state, above all the announced certificate, and never reads the files again: these may be gone, renewed or
// out of reach by then.
#pragma once

#include <optional>
#include <string>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "common/tls/tls_store.h"

namespace muster {

// Names the child's descriptor with the state.
inline constexpr char kTlsHandOverVariable[] = "MUSTER_TLS_HAND_OVER_FD";

struct HandedOverTls {
  TlsSettings settings;
  std::string ciphers;
  TlsState state;
};

// Packs the state of `store`, but with this key and certificate; at most kMaxSecretBytes. Leaves out revocation lists
// that take more than half of that: the child reads them from crl_path, and connects to no one if it can't.
absl::StatusOr<std::string> PackTls(const TlsStore& store, const KeyMaterial& identity);

absl::StatusOr<HandedOverTls> UnpackTls(const std::string& bytes, absl::Time now);

// Returns the state that this process was handed; nullopt if none was. Closes the descriptor and removes the variable.
// Call it while there is one thread.
absl::StatusOr<std::optional<HandedOverTls>> TakeHandedOverTls(absl::Time now);

}  // namespace muster
