// Warnings about certificates and revocation lists that are near or past their end. Pure.
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
  std::string about;  // the same for every warning about the same object in the same state
  std::string text;
};

// Returns warnings about certificates in their last `warning_days`, and about lists in their last 7 days. But never
// before the last third of a life: otherwise a short-lived certificate or list would cause warnings all the time. `own`
// is the program's own chain.
std::vector<AgeWarning> AgeWarnings(const std::vector<Certificate>& own, const TrustBase& trust, const AgeRules& rules,
                                    absl::Time now);

}  // namespace muster
