// Remembers the intermediate certificates of verified chains. Thread-safe.
//
// A peer may show only its own certificate: it always does so when it resumes a session, and may do so at any time.
// Intermediates that other peers have shown help to verify it. They also show which intermediates its connection
// depends on.
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

  // Takes a verified `chain`: a certificate, the intermediates, the authority. If there are too many intermediates,
  // forgets the one that was in no chain for the longest time.
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
  bool are_all = true;  // false: there may be more, because the search reached its limit
};

// Returns those candidates that issued the certificate, or issued one of its issuers, by name and signature. There may
// be several, as an authority may have several certificates for one key. Put trusted or verified candidates first:
// anyone can make certificates with an authority's name and key, and these also count against the limit.
Issuers IssuersOf(const Certificate& certificate, const std::vector<Certificate>& candidates);

}  // namespace muster
