#include "ctl/certs/bundle.h"

#include <openssl/err.h>

#include "absl/strings/str_cat.h"

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

absl::StatusOr<OpenedBundle> OpenBundle(const std::string& bytes, const std::string& password) {
  const BioPtr bio = MemoryBio(bytes);
  const Pkcs12Ptr bundle(d2i_PKCS12_bio(bio.get(), nullptr));
  if (!bundle) return absl::InvalidArgumentError(absl::StrCat("is no PKCS#12 file: ", OpenSslReason()));
  if (PKCS12_verify_mac(bundle.get(), password.c_str(), -1) != 1) {
    const unsigned long code = ERR_peek_last_error();
    const bool is_unknown = ERR_GET_REASON(code) != PKCS12_R_MAC_VERIFY_FAILURE && code != 0;
    const std::string reason = OpenSslReason();
    if (is_unknown) return absl::InvalidArgumentError(absl::StrCat("has a MAC that can't be checked: ", reason));
    return absl::PermissionDeniedError("the password is wrong");
  }
  EVP_PKEY* key = nullptr;
  X509* certificate = nullptr;
  STACK_OF(X509)* chain = nullptr;
  if (PKCS12_parse(bundle.get(), password.c_str(), &key, &certificate, &chain) != 1) {
    return absl::InvalidArgumentError(absl::StrCat("can't be decrypted (", OpenSslReason(),
                                                   "): if it was written with RC2-40, as old tools do, convert it: "
                                                   "`openssl pkcs12 -legacy -in OLD.p12 -nodes -out "
                                                   "x.pem && openssl pkcs12 -export -in x.pem -out NEW.p12`"));
  }
  OpenedBundle opened{X509Ptr(certificate), EvpKeyPtr(key), X509StackPtr(chain)};
  if (!opened.certificate) return absl::InvalidArgumentError("holds no certificate that belongs to its key");
  return opened;
}

}  // namespace muster::certs
