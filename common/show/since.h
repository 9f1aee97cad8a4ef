// When `ms-ctl events --since` begins. Pure.
#pragma once

#include <cstdint>
#include <string>

#include "absl/status/statusor.h"
#include "absl/time/time.h"

namespace muster {

// "2h", "90s", "3d", "1h30m": so long before `now`; "2026-11-25", "2026-11-25 14:30", "2026-11-25T14:30:05": in the
// zone. Milliseconds since 1970; empty gives 0. The error says what is expected.
absl::StatusOr<int64_t> ParseSince(const std::string& text, absl::Time now, absl::TimeZone zone);

}  // namespace muster
