// SHA-256, for digests that are compared (peer list, rank table) and short ids that are derived.
#pragma once

#include <string>

namespace muster::agent {

// 32 raw bytes.
std::string Sha256(const std::string& bytes);

// Lower-case hexadecimal of raw bytes.
std::string ToHex(const std::string& bytes);

}  // namespace muster::agent
