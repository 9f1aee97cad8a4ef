#include "worker_agent/launch/sha256.h"

#include <openssl/evp.h>

#include "absl/strings/escaping.h"
#include "common/check.h"

namespace muster::agent {

std::string Sha256(const std::string& bytes) {
  unsigned char digest[EVP_MAX_MD_SIZE];
  unsigned int size = 0;
  const int done = EVP_Digest(bytes.data(), bytes.size(), digest, &size, EVP_sha256(), nullptr);
  MUSTER_CHECK(done == 1 && size == 32, "SHA-256 is always available");
  return std::string(reinterpret_cast<const char*>(digest), size);
}

std::string ToHex(const std::string& bytes) { return absl::BytesToHexString(bytes); }

}  // namespace muster::agent
