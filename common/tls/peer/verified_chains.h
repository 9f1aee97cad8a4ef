// Chains that were verified with one set of authorities. Thread-safe.
//
// To verify a chain costs a signature check for each of its certificates. A good chain stays good while the authorities
// are the same and it is in time; revocation lists and names are checked each time (CheckPeer). So many peers that come
// back after a scheduler's restart, or share a certificate, are accepted faster.
#pragma once

#include <optional>
#include <vector>

#include "absl/time/time.h"
#include "common/base/mutex.h"
#include "common/tls/material/certificate.h"
#include "common/tls/material/recent_map.h"

namespace muster {

class VerifiedChains {
 public:
  static constexpr size_t kMost = 4'096;

  // Returns the chain for the certificates that a peer showed, its own first, if it was put in and is in time at `now`.
  std::optional<std::vector<Certificate>> Find(const std::vector<Certificate>& shown, absl::Time now);
  void Put(const std::vector<Certificate>& shown, const std::vector<Certificate>& chain);

 private:
  struct Verified {
    std::vector<Certificate> chain;
    absl::Time from, until;
  };
  Mutex mutex_;
  RecentMap<Verified> chains_ ABSL_GUARDED_BY(mutex_){kMost};  // by the digests of the shown certificates
};

}  // namespace muster
