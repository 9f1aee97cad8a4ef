// PKCS#12: a certificate and its key under a password, in today's algorithms. Read by
// common/tls/material/key_material.h.
#pragma once

#include <string>

#include "absl/status/statusor.h"

namespace muster::certs {

// Encrypts with AES-256-CBC under PBKDF2 with HMAC-SHA-256, MAC HMAC-SHA-256: OpenSSL 3 and 1.1 read it without a
// legacy provider. Leaves out the authority's certificate: it is in ca.pem, and MindSpore refuses a bundle that has one
// ("ca_stack should be empty").
absl::StatusOr<std::string> MakeBundle(X509* certificate, EVP_PKEY* key, const std::string& friendly_name,
                                       const std::string& password);

}  // namespace muster::certs
