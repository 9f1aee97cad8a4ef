// Remembers facts about certificates that never change: which certificates a PEM text contains, and which certificate
// signed which. Thread-safe.
//
// It saves time: OpenSSL 3 takes 170 µs to parse a certificate and 80 µs to check a signature (P-256). A connection's
// certificate is checked when it shakes hands, when it opens a stream, and after each change of a revocation list.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "common/base/mutex.h"
#include "common/tls/material/certificate.h"
#include "common/tls/material/recent_map.h"

namespace muster {

class CertificateMemo {
 public:
  // The most entries of each kind. A memo full of texts of usual size takes about 4 MB. Any client that begins a
  // handshake can fill it; then checks only take longer.
  static constexpr size_t kMaxTexts = 256;
  static constexpr size_t kMaxTextLength = 8 * 1024;  // longer texts are not remembered
  static constexpr size_t kMaxSignatures = 16'384;

  // Returns the memo of this process.
  static CertificateMemo& Shared();

  // As ParseCertificates, but returns nothing for a text that ParseCertificates refuses.
  std::vector<Certificate> Parse(const std::string& pem);
  // True if the issuer's key has made the certificate's signature. Doesn't check names, dates or usage.
  bool HasSigned(const Certificate& issuer, const Certificate& certificate);

 private:
  Mutex mutex_;
  RecentMap<std::vector<Certificate>> texts_ ABSL_GUARDED_BY(mutex_){kMaxTexts};
  RecentMap<bool> signatures_ ABSL_GUARDED_BY(mutex_){kMaxSignatures};  // by the digests of both certificates
};

}  // namespace muster
