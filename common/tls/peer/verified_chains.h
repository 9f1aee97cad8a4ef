// Remembers chains that were verified with one set of authorities. Thread-safe.
//
// Verifying a chain costs a signature check for each of its certificates. A verified chain stays good until one of its
// certificates ends, as long as the authorities are the same. Revocation lists and names are checked each time
// (CheckPeer). So peers that connect again after a scheduler's restart, or share a certificate, are accepted faster.
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

  // Returns the chain that was stored with Put for these shown certificates (the peer's own first), if its dates
  // include `now`.
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
