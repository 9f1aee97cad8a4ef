#include "ctl/certs/bundle.h"

#include "absl/strings/str_cat.h"
#include "common/tls/material/certificate.h"
#include "common/tls/material/openssl.h"
#include "ctl/certs/openssl_handles.h"

namespace muster::certs {
namespace {

constexpr int kIterations = 100'000;
constexpr int kNoMacYet = -1;

}  // namespace

absl::StatusOr<std::string> MakeBundle(X509* certificate, EVP_PKEY* key, const std::string& friendly_name,
                                       const std::string& password) {
  const Pkcs12Ptr bundle(PKCS12_create(password.c_str(), friendly_name.c_str(), key, certificate, nullptr,
                                       NID_aes_256_cbc, NID_aes_256_cbc, kIterations, kNoMacYet, 0));
  const BioPtr bio(BIO_new(BIO_s_mem()));
  const bool is_made = bundle &&
                       PKCS12_set_mac(bundle.get(), password.c_str(), -1, nullptr, 0, kIterations, EVP_sha256()) == 1 &&
                       bio && i2d_PKCS12_bio(bio.get(), bundle.get()) == 1;
  if (!is_made) return absl::InternalError(absl::StrCat("OpenSSL can't make the PKCS#12 file: ", OpenSslReason()));
  return BioText(bio.get());
}

}  // namespace muster::certs
