// Makes PKCS#12 files: a certificate and its key, encrypted with a password. common/tls/material/key_material.h reads
// them.
#pragma once

#include <string>

#include "absl/status/statusor.h"

namespace muster::certs {

// Returns the PKCS#12 file. It is encrypted with AES-256-CBC. The encryption key comes from PBKDF2 with
// HMAC-SHA-256, and the MAC is HMAC-SHA-256. OpenSSL 3 and 1.1 read this without a legacy provider. The file does not
// contain the authority's certificate, which is in ca.pem: MindSpore refuses a file that has one ("ca_stack should be
// empty").
absl::StatusOr<std::string> MakeBundle(X509* certificate, EVP_PKEY* key, const std::string& friendly_name,
                                       const std::string& password);

}  // namespace muster::certs
