// Intermediate certificates that have stood in a good chain. Thread-safe.
//
// A peer may show its own certificate only: always when it resumes a session, and whenever it likes. The intermediates
// that others have shown help to verify it, and tell which ones its connection hangs on.
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

  // `chain` was verified: a certificate, those between, the authority. One too many, and the one that has stood in no
  // chain for longest is forgotten.
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
  bool are_all = true;  // false: there are more, which were not looked for
};

// Those of the candidates that issued the certificate, or one of its issuers, by name and signature. More than one may
// have done so: an authority may have several certificates for one key. Those that are trusted or verified have to
// stand first: anybody can make up certificates with an authority's name and key, and they count for the limit.
Issuers IssuersOf(const Certificate& certificate, const std::vector<Certificate>& candidates);

}  // namespace muster
