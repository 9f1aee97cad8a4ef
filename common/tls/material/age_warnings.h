// Warnings of certificates and revocation lists near or past their end. Pure.
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

// Warns of certificates for their last `warning_days`, and of lists for their last 7 days; of both for the last third
// of their life at most, or short-lived ones would be warned of for all of it. `own`: the own chain.
std::vector<AgeWarning> AgeWarnings(const std::vector<Certificate>& own, const TrustBase& trust, const AgeRules& rules,
                                    absl::Time now);

}  // namespace muster
