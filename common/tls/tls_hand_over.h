// Hands a process's TLS state to a child that acts for it: the process that sends the keeper's last report, or ms-ring.
// The child uses the parent's state, above all the certificate that was announced to peers. It does not read the files
// again, because by then they may be gone, renewed or out of reach.
#pragma once

#include <optional>
#include <string>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "common/tls/tls_store.h"

namespace muster {

// The environment variable with the number of the child's descriptor that has the state.
inline constexpr char kTlsHandOverVariable[] = "MUSTER_TLS_HAND_OVER_FD";

struct HandedOverTls {
  TlsSettings settings;
  std::string ciphers;
  TlsState state;
};

// Packs the state of `store`, but with the key and certificate `identity`, into at most kMaxSecretBytes. Leaves out
// the revocation lists if they take more than half of that. The child then reads them from crl_path, and connects to no
// one if it can't.
absl::StatusOr<std::string> PackTls(const TlsStore& store, const KeyMaterial& identity);

absl::StatusOr<HandedOverTls> UnpackTls(const std::string& bytes, absl::Time now);

// Returns the state that the parent handed to this process; nullopt if it handed none. Closes the descriptor and
// removes the variable. Call it while there is one thread.
absl::StatusOr<std::optional<HandedOverTls>> TakeHandedOverTls(absl::Time now);

}  // namespace muster
