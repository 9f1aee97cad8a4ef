// Remembers facts about certificates that never change: the certificates in a PEM text, and which one signed which.
// Thread-safe.
//
// OpenSSL 3 takes 170 µs to parse a certificate and 80 µs to check a signature (P-256). A connection's own certificate
// is checked when it shakes hands, when it opens a stream, and with each new revocation list.
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
  // The most that is remembered, of each kind; about 4 MB of memory when full with texts of usual size. Anybody who can
  // begin a handshake can fill it: then checks only take longer.
  static constexpr size_t kMaxTexts = 256;
  static constexpr size_t kMaxTextLength = 8 * 1024;  // longer ones are parsed each time
  static constexpr size_t kMaxSignatures = 16'384;

  // Returns the memo of this process.
  static CertificateMemo& Shared();

  // As ParseCertificates, but empty for a text that it refuses.
  std::vector<Certificate> Parse(const std::string& pem);
  // True if the issuer's key made the certificate's signature. Doesn't check names, dates and usage.
  bool HasSigned(const Certificate& issuer, const Certificate& certificate);

 private:
  Mutex mutex_;
  RecentMap<std::vector<Certificate>> texts_ ABSL_GUARDED_BY(mutex_){kMaxTexts};
  RecentMap<bool> signatures_ ABSL_GUARDED_BY(mutex_){kMaxSignatures};  // by both certificates' digests
};

}  // namespace muster
