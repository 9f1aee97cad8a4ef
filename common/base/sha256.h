// SHA-256, for digests that are compared (peer list, rank table, a TLS file) and for derived short ids.
#pragma once

#include <string>

#include "absl/strings/string_view.h"

namespace muster {

// Returns 32 raw bytes.
std::string Sha256(absl::string_view bytes);

}  // namespace muster
