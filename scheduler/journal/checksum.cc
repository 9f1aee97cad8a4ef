#include "scheduler/journal/checksum.h"

#include <openssl/evp.h>

#include "common/check.h"

namespace muster::scheduler {

int64_t Checksum(uint64_t sequence, const std::string& body) {
  unsigned char number[8];
  for (int i = 0; i < 8; ++i) number[i] = static_cast<unsigned char>(sequence >> (56 - 8 * i));
  unsigned char digest[EVP_MAX_MD_SIZE];
  EVP_MD_CTX* context = EVP_MD_CTX_new();
  const bool is_done = context != nullptr && EVP_DigestInit_ex(context, EVP_sha256(), nullptr) == 1 &&
                       EVP_DigestUpdate(context, number, sizeof(number)) == 1 &&
                       EVP_DigestUpdate(context, body.data(), body.size()) == 1 &&
                       EVP_DigestFinal_ex(context, digest, nullptr) == 1;
  EVP_MD_CTX_free(context);
  MUSTER_CHECK(is_done, "libcrypto has SHA-256");
  uint64_t first = 0;
  for (int i = 0; i < 8; ++i) first = first << 8 | digest[i];
  return static_cast<int64_t>(first);
}

}  // namespace muster::scheduler
