// What is near its end, or past it: certificates and revocation lists. Pure.
#pragma once

#include <string>
#include <vector>

#include "absl/time/time.h"
#include "common/tls/peer/peer_check.h"

namespace muster {

struct AgeRules {
  int warning_days = 90;              // cert_expire_warning_time_in_day
  bool serves_expired_lists = false;  // --crl_expired=serve
};

struct AgeWarning {
  std::string about;  // equal for the same thing in the same state
  std::string text;
};

// Certificates are warned of for the last `warning_days`, lists for the last 7 days; both for the last third of their
// life at most, since one that is made for less would be warned of for all of it. `own`: the own chain.
std::vector<AgeWarning> AgeWarnings(const std::vector<Certificate>& own, const TrustBase& trust, const AgeRules& rules,
                                    absl::Time now);

}  // namespace muster
