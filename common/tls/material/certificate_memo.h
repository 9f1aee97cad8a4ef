// What was found out about certificates and can never change: what a PEM text says, and who signed whom. Thread-safe.
//
// OpenSSL 3 takes 170 µs to parse a certificate and 80 µs to check a signature (P-256), and a connection's own
// certificate is looked at when it shakes hands, when it opens a stream, and with each new revocation list.
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
  // What is remembered at most, of each kind; the memory is about 4 MB when all are used and texts are of usual size.
  // Anybody who can begin a handshake can fill it: then it only takes longer.
  static constexpr size_t kMaxTexts = 256;
  static constexpr size_t kMaxTextLength = 8 * 1024;  // longer ones are parsed each time
  static constexpr size_t kMaxSignatures = 16'384;

  // The one of this process.
  static CertificateMemo& Shared();

  // As ParseCertificates, and empty for what it refuses.
  std::vector<Certificate> Parse(const std::string& pem);
  // Whether the issuer's key made the certificate's signature. Says nothing of names, dates and usage.
  bool HasSigned(const Certificate& issuer, const Certificate& certificate);

 private:
  Mutex mutex_;
  RecentMap<std::vector<Certificate>> texts_ ABSL_GUARDED_BY(mutex_){kMaxTexts};
  RecentMap<bool> signatures_ ABSL_GUARDED_BY(mutex_){kMaxSignatures};  // by both certificates' digests
};

}  // namespace muster
