#include "common/tls/material/certificate_memo.h"

#include <openssl/err.h>

#include "absl/strings/str_cat.h"

namespace muster {
namespace {

// Returns 1 if `issuer` has signed `certificate`, 0 if not, and a negative number if that can't be checked now.
int Verify(const Certificate& issuer, const Certificate& certificate) {
  EVP_PKEY* key = X509_get0_pubkey(issuer.get());
  const int result = key == nullptr ? -1 : X509_verify(certificate.get(), key);
  ERR_clear_error();
  return result;
}

}  // namespace

CertificateMemo& CertificateMemo::Shared() {
  static CertificateMemo* const shared = new CertificateMemo;  // never destroyed: gRPC's threads may run longer
  return *shared;
}

std::vector<Certificate> CertificateMemo::Parse(const std::string& pem) {
  const bool is_kept = pem.size() <= kMaxTextLength;
  if (is_kept) {
    MutexLock lock(mutex_);
    if (const std::vector<Certificate>* known = texts_.Find(pem)) return *known;
  }
  absl::StatusOr<std::vector<Certificate>> parsed = ParseCertificates(pem);
  if (!parsed.ok()) return {};
  if (is_kept) {
    MutexLock lock(mutex_);
    texts_.Put(pem, *parsed);
  }
  return *std::move(parsed);
}

bool CertificateMemo::HasSigned(const Certificate& issuer, const Certificate& certificate) {
  if (!issuer || !certificate) return false;
  const std::string one = issuer.Digest(), other = certificate.Digest();
  if (one.empty() || other.empty()) return Verify(issuer, certificate) == 1;
  const std::string key = absl::StrCat(one, other);
  {
    MutexLock lock(mutex_);
    if (const bool* known = signatures_.Find(key)) return *known;
  }
  const int result = Verify(issuer, certificate);
  if (result < 0) return false;
  MutexLock lock(mutex_);
  signatures_.Put(key, result == 1);
  return result == 1;
}

}  // namespace muster
