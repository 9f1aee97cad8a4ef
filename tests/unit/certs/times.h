// The present time in the tests of certificates.
#pragma once

#include "absl/time/time.h"

namespace muster::certs {

inline const absl::Time kNow = absl::FromUnixSeconds(1'800'000'000);
inline constexpr absl::Duration kDay = absl::Hours(24);
inline constexpr absl::Duration kYear = absl::Hours(365 * 24);

}  // namespace muster::certs
