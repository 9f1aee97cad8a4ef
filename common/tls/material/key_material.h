// A private key with its certificate chain, from a .p12 file or PEM.
#pragma once

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "common/tls/material/certificate.h"
#include "common/tls/material/secret.h"

namespace muster {

struct KeyMaterial {
  Secret key_pem;                  // unencrypted, PKCS#8
  std::vector<Certificate> chain;  // the key's own certificate first, then the others in their original order

  const Certificate& leaf() const { return chain.front(); }
  std::string ChainPem() const;
};

// Each error says what is wrong with the bytes and what to do. It never contains the password. The caller adds the name
// of the file and of the variable with the password.

// Parses a PKCS#12 file. OpenSSL 3 refuses files that old programs wrote (RC2-40, 3DES); the error then says how to
// convert them.
absl::StatusOr<KeyMaterial> ParsePkcs12(const std::string& bytes, const Secret& password);

// Parses a key and a chain in PEM, which may be the same text. `password` is for an encrypted key.
absl::StatusOr<KeyMaterial> ParsePem(const std::string& chain, const std::string& key, const Secret& password);

// True if the bytes look like PEM; otherwise they should be PKCS#12.
bool LooksLikePem(const std::string& bytes);

}  // namespace muster
