#include "ctl/certs/openssl_handles.h"

#include <openssl/err.h>
#include <openssl/pem.h>

#include "absl/strings/ascii.h"
#include "common/base/check.h"
#include "common/tls/material/certificate.h"

namespace muster::certs {

std::string OpenSslReason() {
  const unsigned long code = ERR_peek_last_error();
  const char* reason = ERR_reason_error_string(code);
  std::string text = reason != nullptr ? reason : "unknown error";
  ERR_clear_error();
  return text;
}

std::string CertificatePem(X509* certificate) {
  const BioPtr bio(BIO_new(BIO_s_mem()));
  MUSTER_CHECK(bio != nullptr && PEM_write_bio_X509(bio.get(), certificate) == 1, "memory");
  return BioText(bio.get());
}

std::string PrivateKeyPem(EVP_PKEY* key) {
  const BioPtr bio(BIO_new(BIO_s_secmem()));
  MUSTER_CHECK(bio != nullptr && PEM_write_bio_PrivateKey(bio.get(), key, nullptr, nullptr, 0, nullptr, nullptr) == 1,
               "memory");
  return BioText(bio.get());
}

std::string SerialText(const ASN1_INTEGER* serial) {
  const Number number(ASN1_INTEGER_to_BN(serial, nullptr));
  MUSTER_CHECK(number != nullptr, "memory");
  char* hex = BN_bn2hex(number.get());
  std::string text = absl::AsciiStrToLower(hex);
  OPENSSL_free(hex);
  return text;
}

}  // namespace muster::certs
