#include "common/tls/material/certificate.h"

#include <openssl/err.h>
#include <openssl/pem.h>

#include <ctime>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "common/base/text.h"
#include "common/tls/material/openssl.h"

namespace muster {
namespace {

std::string NameText(const X509_NAME* name) {
  const BioPtr bio(BIO_new(BIO_s_mem()));
  // Prints one line. Escapes control and non-ASCII characters, because a peer may have chosen the name.
  X509_NAME_print_ex(bio.get(), name, 0, XN_FLAG_RFC2253);
  return BioText(bio.get());
}

std::string DigestOf(const X509* x509) {
  unsigned char digest[EVP_MAX_MD_SIZE];
  unsigned int size = 0;
  if (X509_digest(x509, EVP_sha256(), digest, &size) != 1) return "";
  return std::string(reinterpret_cast<const char*>(digest), size);
}

}  // namespace

BioPtr MemoryBio(const std::string& bytes) {
  return BioPtr(BIO_new_mem_buf(bytes.data(), static_cast<int>(std::min(bytes.size(), kMaxTlsFileBytes))));
}

std::string BioText(BIO* bio) {
  char* data = nullptr;
  const long size = BIO_get_mem_data(bio, &data);  // NOLINT(google-runtime-int): OpenSSL's type
  return size > 0 ? std::string(data, static_cast<size_t>(size)) : "";
}

absl::Time ToAbslTime(const ASN1_TIME* time) {
  std::tm parts{};
  if (time == nullptr || ASN1_TIME_to_tm(time, &parts) != 1) return absl::InfinitePast();
  return absl::FromTM(parts, absl::UTCTimeZone());
}

std::string ShowTime(absl::Time time) { return absl::FormatTime("%Y-%m-%d %H:%M:%S UTC", time, absl::UTCTimeZone()); }

Certificate Share(X509* x509) {
  X509_up_ref(x509);
  return Certificate(X509Ptr(x509));
}

std::string FingerprintOf(const X509* x509) { return absl::BytesToHexString(DigestOf(x509)); }

std::string Certificate::Fingerprint() const { return FingerprintOf(x509_.get()); }
std::string Certificate::Digest() const { return DigestOf(x509_.get()); }

std::string Certificate::ToPem() const {
  const BioPtr bio(BIO_new(BIO_s_mem()));
  if (PEM_write_bio_X509(bio.get(), x509_.get()) != 1) return "";
  return BioText(bio.get());
}

std::string Certificate::Subject() const {
  std::string text = NameText(X509_get_subject_name(x509_.get()));
  CutText(text, 200);
  return text.empty() ? "(no subject)" : text;
}

std::string Certificate::Issuer() const {
  std::string text = NameText(X509_get_issuer_name(x509_.get()));
  CutText(text, 200);
  return text;
}

std::string Certificate::Serial() const {
  const BioPtr bio(BIO_new(BIO_s_mem()));
  i2a_ASN1_INTEGER(bio.get(), X509_get0_serialNumber(x509_.get()));
  return BioText(bio.get());
}

absl::Time Certificate::NotBefore() const { return ToAbslTime(X509_get0_notBefore(x509_.get())); }
absl::Time Certificate::NotAfter() const { return ToAbslTime(X509_get0_notAfter(x509_.get())); }

std::vector<std::string> Certificate::UriNames() const {
  std::vector<std::string> uris;
  // If the certificate has this extension twice, the result is null. It then counts as having no name, and callers that
  // need one refuse it.
  const GeneralNamesPtr names(
      static_cast<GENERAL_NAMES*>(X509_get_ext_d2i(x509_.get(), NID_subject_alt_name, nullptr, nullptr)));
  if (names == nullptr) {
    ERR_clear_error();
    return uris;
  }
  for (int i = 0; i < sk_GENERAL_NAME_num(names.get()); ++i) {
    const GENERAL_NAME* name = sk_GENERAL_NAME_value(names.get(), i);
    if (name->type != GEN_URI) continue;
    const ASN1_IA5STRING* uri = name->d.uniformResourceIdentifier;
    uris.emplace_back(reinterpret_cast<const char*>(ASN1_STRING_get0_data(uri)),
                      static_cast<size_t>(ASN1_STRING_length(uri)));
  }
  return uris;
}

bool Certificate::IsForHost(const std::string& host) const {
  // These flags matter for a certificate without DNS names: without them, X509_check_host would use the common name.
  const unsigned int flags = X509_CHECK_FLAG_NEVER_CHECK_SUBJECT | X509_CHECK_FLAG_NO_PARTIAL_WILDCARDS;
  if (X509_check_ip_asc(x509_.get(), host.c_str(), 0) == 1) return true;
  const bool is_host = X509_check_host(x509_.get(), host.data(), host.size(), flags, nullptr) == 1;
  ERR_clear_error();
  return is_host;
}

absl::StatusOr<std::vector<Certificate>> ParseCertificates(const std::string& pem) {
  ERR_clear_error();
  const BioPtr bio = MemoryBio(pem);
  std::vector<Certificate> certificates;
  while (X509* x509 = PEM_read_bio_X509(bio.get(), nullptr, RefusePassphrase, nullptr)) {
    certificates.emplace_back(X509Ptr(x509));
    if (certificates.size() > kMaxCertificates) {
      return absl::InvalidArgumentError(absl::StrCat("more than ", kMaxCertificates, " certificates"));
    }
  }
  const auto errors = TakeOpenSslErrors();
  if (!HasReason(errors, ERR_LIB_PEM, PEM_R_NO_START_LINE)) {
    return absl::InvalidArgumentError(
        absl::StrCat("certificate ", certificates.size() + 1, " is damaged (", OpenSslReason(errors), ")"));
  }
  if (certificates.empty()) return absl::InvalidArgumentError("no PEM certificate (-----BEGIN CERTIFICATE-----)");
  return certificates;
}

}  // namespace muster
