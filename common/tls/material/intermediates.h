// Intermediate certificates from good chains. Thread-safe.
//
// A peer may show its own certificate only: always when it resumes a session, and otherwise at will. The intermediates
// that others have shown help to verify it, and show which of them its connection depends on.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "common/base/mutex.h"
#include "common/tls/material/certificate.h"

namespace muster {

class Intermediates {
 public:
  static constexpr size_t kMost = 256;

  // Takes a verified `chain`: a certificate, the intermediates, the authority. If there are too many, forgets the one
  // that has been in no chain for longest.
  void Learn(const std::vector<Certificate>& chain);
  std::vector<Certificate> All() const;

 private:
  struct Known {
    Certificate certificate;
    uint64_t last_use = 0;
  };
  mutable Mutex mutex_;
  uint64_t uses_ ABSL_GUARDED_BY(mutex_) = 0;
  std::map<std::string, Known> known_ ABSL_GUARDED_BY(mutex_);  // by fingerprint
};

struct Issuers {
  std::vector<Certificate> found;
  bool are_all = true;  // false: there are more, which it did not look for
};

// Returns the candidates that issued the certificate, or one of its issuers, by name and signature. There may be
// several: an authority may have several certificates for one key. Put trusted or verified candidates first: anybody
// can make certificates with an authority's name and key, and these count for the limit.
Issuers IssuersOf(const Certificate& certificate, const std::vector<Certificate>& candidates);

}  // namespace muster
