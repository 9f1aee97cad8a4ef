// Chains that were verified with one set of authorities. Thread-safe.
//
// To verify one costs a signature for each of its certificates. What was good once stays so while the same are trusted
// and it is in time: revocation lists and names are looked at each time (CheckPeer). A crowd that comes back after a
// scheduler's restart, or shares a certificate, is let in the faster for it.
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

  // The chain of what a peer showed, its own certificate first, if it was put in and is in time at `now`.
  std::optional<std::vector<Certificate>> Find(const std::vector<Certificate>& shown, absl::Time now);
  void Put(const std::vector<Certificate>& shown, const std::vector<Certificate>& chain);

 private:
  struct Verified {
    std::vector<Certificate> chain;
    absl::Time from, until;
  };
  Mutex mutex_;
  RecentMap<Verified> chains_ ABSL_GUARDED_BY(mutex_){kMost};  // by the digests of what was shown
};

}  // namespace muster
