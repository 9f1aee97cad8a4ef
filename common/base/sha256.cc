#include "common/base/sha256.h"

// Uses the deprecated functions, because EVP would read OpenSSL's configuration and load its providers. That would cost
// each agent 2 MB and some milliseconds at its start, even without TLS.
#define OPENSSL_SUPPRESS_DEPRECATED
#include <openssl/sha.h>

#include "common/base/check.h"

namespace muster {

std::string Sha256(absl::string_view bytes) {
  unsigned char digest[SHA256_DIGEST_LENGTH];
  SHA256_CTX context;
  const bool is_done = SHA256_Init(&context) == 1 && SHA256_Update(&context, bytes.data(), bytes.size()) == 1 &&
                       SHA256_Final(digest, &context) == 1;
  MUSTER_CHECK(is_done, "SHA-256 is always available");
  return std::string(reinterpret_cast<const char*>(digest), sizeof(digest));
}

}  // namespace muster
