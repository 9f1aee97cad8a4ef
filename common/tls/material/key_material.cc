#include "common/tls/material/key_material.h"

#include <openssl/err.h>
#include <openssl/pem.h>

#include <algorithm>
#include <cstring>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "common/tls/material/openssl.h"

namespace muster {
namespace {

// More iterations would only delay the start. Programs that write such files use 2,048 to a million iterations.
constexpr int kMaxMacIterations = 20'000'000;
constexpr char kConvert[] =
    "convert it: openssl pkcs12 -legacy -in old.p12 -nodes -out all.pem && openssl pkcs12 -export -in all.pem -out "
    "new.p12 && shred -u all.pem (or name the PEM file itself in the TLS configuration)";

absl::StatusOr<Secret> KeyToPem(EVP_PKEY* key) {
  const BioPtr bio(BIO_new(BIO_s_secmem()));
  if (PEM_write_bio_PKCS8PrivateKey(bio.get(), key, nullptr, nullptr, 0, nullptr, nullptr) != 1) {
    return absl::InvalidArgumentError(absl::StrCat("the key can't be used: ", OpenSslReason(TakeOpenSslErrors())));
  }
  return Secret(BioText(bio.get()));
}

// Puts the certificate that belongs to the key first in the chain.
absl::StatusOr<KeyMaterial> Assemble(const EvpKeyPtr& key, std::vector<Certificate> chain) {
  const auto own = std::find_if(chain.begin(), chain.end(), [&](const Certificate& certificate) {
    return X509_check_private_key(certificate.get(), key.get()) == 1;
  });
  ERR_clear_error();
  if (own == chain.end()) {
    return absl::InvalidArgumentError(
        absl::StrCat("the private key does not belong to the certificate ", chain.front().Subject(),
                     ": key and certificate are of different pairs, or only one of the two was replaced"));
  }
  std::rotate(chain.begin(), own, own + 1);
  absl::StatusOr<Secret> pem = KeyToPem(key.get());
  if (!pem.ok()) return pem.status();
  return KeyMaterial{*std::move(pem), std::move(chain)};
}

absl::Status Pkcs12Error() {
  const auto errors = TakeOpenSslErrors();
  if (HasReason(errors, ERR_LIB_PKCS12, PKCS12_R_MAC_VERIFY_FAILURE)) {
    return absl::PermissionDeniedError("the password is wrong (Mac verify error)");
  }
  for (const unsigned long error : errors) {
    const char* reason = ERR_reason_error_string(error);
    if (reason != nullptr && absl::StrContains(reason, "unsupported")) {
      return absl::UnimplementedError(
          absl::StrCat("it is encrypted with an old algorithm (such as RC2-40) that OpenSSL 3 refuses; ", kConvert));
    }
  }
  return absl::InvalidArgumentError(absl::StrCat("it is damaged or cut off (", OpenSslReason(errors), ")"));
}

int GivePassword(char* buffer, int size, int /*is_writing*/, void* data) {
  const std::string& password = static_cast<const Secret*>(data)->text();
  if (password.size() > static_cast<size_t>(size)) return -1;
  std::memcpy(buffer, password.data(), password.size());
  return static_cast<int>(password.size());
}

}  // namespace

std::string KeyMaterial::ChainPem() const {
  std::string pem;
  for (const Certificate& certificate : chain) pem += certificate.ToPem();
  return pem;
}

absl::StatusOr<KeyMaterial> ParsePkcs12(const std::string& bytes, const Secret& password) {
  ERR_clear_error();
  const unsigned char* at = reinterpret_cast<const unsigned char*>(bytes.data());
  const Pkcs12Ptr p12(d2i_PKCS12(nullptr, &at, static_cast<long>(bytes.size())));  // NOLINT(google-runtime-int)
  if (p12 == nullptr) {
    ERR_clear_error();
    return absl::InvalidArgumentError("it is not a PKCS#12 file, or it is cut off");
  }
  const ASN1_INTEGER* iterations = nullptr;
  PKCS12_get0_mac(nullptr, nullptr, nullptr, &iterations, p12.get());
  if (iterations != nullptr && (ASN1_INTEGER_get(iterations) < 0 || ASN1_INTEGER_get(iterations) > kMaxMacIterations)) {
    return absl::InvalidArgumentError("its number of iterations is too high: it is damaged");
  }
  EVP_PKEY* raw_key = nullptr;
  X509* raw_leaf = nullptr;
  STACK_OF(X509)* raw_others = nullptr;
  const int parsed = PKCS12_parse(p12.get(), password.text().c_str(), &raw_key, &raw_leaf, &raw_others);
  const EvpKeyPtr key(raw_key);
  std::vector<Certificate> chain;
  if (raw_leaf != nullptr) chain.emplace_back(X509Ptr(raw_leaf));
  const X509StackPtr others(raw_others);
  if (parsed != 1) return Pkcs12Error();
  ERR_clear_error();
  while (sk_X509_num(others.get()) > 0) chain.emplace_back(X509Ptr(sk_X509_shift(others.get())));
  if (key == nullptr) return absl::InvalidArgumentError("it holds no private key");
  if (chain.empty()) return absl::InvalidArgumentError("it holds no certificate");
  if (chain.size() > kMaxCertificates) return absl::InvalidArgumentError("it holds too many certificates");
  return Assemble(key, std::move(chain));
}

absl::StatusOr<KeyMaterial> ParsePem(const std::string& chain, const std::string& key, const Secret& password) {
  absl::StatusOr<std::vector<Certificate>> certificates = ParseCertificates(chain);
  if (!certificates.ok()) return certificates.status();
  const BioPtr bio = MemoryBio(key);
  const EvpKeyPtr parsed(PEM_read_bio_PrivateKey(bio.get(), nullptr, GivePassword, const_cast<Secret*>(&password)));
  if (parsed == nullptr) {
    const auto errors = TakeOpenSslErrors();
    if (!absl::StrContains(key, "PRIVATE KEY-----")) {
      return absl::InvalidArgumentError("there is no private key in it (-----BEGIN PRIVATE KEY-----)");
    }
    if (absl::StrContains(key, "ENCRYPTED")) {
      return absl::PermissionDeniedError("the private key is encrypted and the password does not open it");
    }
    return absl::InvalidArgumentError(absl::StrCat("the private key is damaged (", OpenSslReason(errors), ")"));
  }
  ERR_clear_error();
  return Assemble(parsed, *std::move(certificates));
}

bool LooksLikePem(const std::string& bytes) { return absl::StrContains(bytes, "-----BEGIN "); }

}  // namespace muster
