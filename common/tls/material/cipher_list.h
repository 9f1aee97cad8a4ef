// The cipher suites of the TLS configuration.
#pragma once

#include <string>

#include "absl/status/statusor.h"

namespace muster {

struct CipherList {
  std::string usable;   // "A:B:C", in the given order
  std::string warning;  // one line on what was dropped; empty: nothing was
};

// Of a list "A:B:C" what TLS 1.2 servers and clients of ours can use: ephemeral elliptic-curve key exchange with an
// AEAD cipher. The suites of TLS 1.3 are always on and may stand in the list without effect. An error when nothing is
// left.
absl::StatusOr<CipherList> ChooseCiphers(const std::string& list);

}  // namespace muster
