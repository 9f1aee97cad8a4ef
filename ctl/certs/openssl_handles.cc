#include "ctl/certs/openssl_handles.h"

#include <openssl/err.h>
#include <openssl/pem.h>

#include "absl/strings/ascii.h"
#include "absl/strings/escaping.h"
#include "common/check.h"

namespace muster::certs {

std::string OpenSslReason() {
  const unsigned long code = ERR_peek_last_error();
  const char* reason = ERR_reason_error_string(code);
  std::string text = reason != nullptr ? reason : "unknown error";
  ERR_clear_error();
  return text;
}

std::string BioText(BIO* bio) {
  char* data = nullptr;
  const long size = BIO_get_mem_data(bio, &data);
  return size > 0 ? std::string(data, static_cast<size_t>(size)) : std::string();
}

Bio ReadingBio(const std::string& text) {
  Bio bio(BIO_new_mem_buf(text.data(), static_cast<int>(text.size())));
  MUSTER_CHECK(bio != nullptr, "memory");
  return bio;
}

std::string CertificatePem(X509* certificate) {
  const Bio bio(BIO_new(BIO_s_mem()));
  MUSTER_CHECK(bio != nullptr && PEM_write_bio_X509(bio.get(), certificate) == 1, "memory");
  return BioText(bio.get());
}

std::string PrivateKeyPem(EVP_PKEY* key) {
  const Bio bio(BIO_new(BIO_s_secmem()));
  MUSTER_CHECK(bio != nullptr && PEM_write_bio_PrivateKey(bio.get(), key, nullptr, nullptr, 0, nullptr, nullptr) == 1,
               "memory");
  return BioText(bio.get());
}

std::string Fingerprint(X509* certificate) {
  unsigned char digest[EVP_MAX_MD_SIZE];
  unsigned int size = 0;
  MUSTER_CHECK(X509_digest(certificate, EVP_sha256(), digest, &size) == 1, "SHA-256 is always available");
  return absl::BytesToHexString(absl::string_view(reinterpret_cast<const char*>(digest), size));
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
