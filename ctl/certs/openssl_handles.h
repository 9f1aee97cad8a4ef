// OpenSSL helpers for making certificates, in addition to those of common/tls: more handles, the last error as text,
// PEM and serial numbers.
#pragma once

#include <openssl/asn1.h>
#include <openssl/bn.h>

#include <memory>
#include <string>

#include "common/tls/material/openssl.h"

namespace muster::certs {

using Number = std::unique_ptr<BIGNUM, OpenSslDelete<BN_free>>;
using Integer = std::unique_ptr<ASN1_INTEGER, OpenSslDelete<ASN1_INTEGER_free>>;
using Enumerated = std::unique_ptr<ASN1_ENUMERATED, OpenSslDelete<ASN1_ENUMERATED_free>>;
using TimeValue = std::unique_ptr<ASN1_TIME, OpenSslDelete<ASN1_TIME_free>>;

// Returns the reason of this thread's last OpenSSL error ("mac verify failure") and clears it.
std::string OpenSslReason();

// Return the certificate and the key as PEM. They abort if there is no memory.
std::string CertificatePem(X509* certificate);
std::string PrivateKeyPem(EVP_PKEY* key);

// Returns the serial number in lower-case hexadecimal, with an even number of digits.
std::string SerialText(const ASN1_INTEGER* serial);

}  // namespace muster::certs
