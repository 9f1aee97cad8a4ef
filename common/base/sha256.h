// SHA-256, for digests that are compared (peer list, rank table, a TLS file) and short ids that are derived.
#pragma once

#include <string>

#include "absl/strings/string_view.h"

namespace muster {

// 32 raw bytes.
std::string Sha256(absl::string_view bytes);

}  // namespace muster
