#include "common/tls/material/intermediates.h"

#include <openssl/err.h>
#include <openssl/x509v3.h>

#include <algorithm>

#include "common/tls/material/certificate_memo.h"

namespace muster {
namespace {

constexpr size_t kMaxIssuers = 16;  // of one certificate, with the issuers of its issuers

bool HasIssued(const Certificate& issuer, const Certificate& certificate) {
  const bool fits = X509_check_issued(issuer.get(), certificate.get()) == X509_V_OK;
  ERR_clear_error();
  return fits && CertificateMemo::Shared().HasSigned(issuer, certificate);
}

}  // namespace

void Intermediates::Learn(const std::vector<Certificate>& chain) {
  for (size_t i = 1; i + 1 < chain.size(); ++i) {
    const std::string fingerprint = chain[i].Fingerprint();
    MutexLock lock(mutex_);
    if (!known_.contains(fingerprint) && known_.size() >= kMost) {
      known_.erase(std::min_element(known_.begin(), known_.end(), [](const auto& a, const auto& b) {
        return a.second.last_use < b.second.last_use;
      }));
    }
    Known& known = known_[fingerprint];
    known.certificate = chain[i];
    known.last_use = ++uses_;
  }
}

std::vector<Certificate> Intermediates::All() const {
  MutexLock lock(mutex_);
  std::vector<Certificate> all;
  for (const auto& [fingerprint, known] : known_) all.push_back(known.certificate);
  return all;
}

Issuers IssuersOf(const Certificate& certificate, const std::vector<Certificate>& candidates) {
  std::vector<Certificate> issuers;
  const auto is_known = [&](const Certificate& candidate) {
    return std::any_of(issuers.begin(), issuers.end(),
                       [&](const Certificate& issuer) { return X509_cmp(issuer.get(), candidate.get()) == 0; });
  };
  for (size_t next = 0; next <= issuers.size(); ++next) {
    const Certificate child = next == 0 ? certificate : issuers[next - 1];
    for (const Certificate& candidate : candidates) {
      if (is_known(candidate) || !HasIssued(candidate, child)) continue;
      if (issuers.size() >= kMaxIssuers) return {std::move(issuers), false};
      issuers.push_back(candidate);
    }
  }
  return {std::move(issuers), true};
}

}  // namespace muster
