// Parses the time in `ms-ctl events --since`. Pure.
#pragma once

#include <cstdint>
#include <string>

#include "absl/status/statusor.h"
#include "absl/time/time.h"

namespace muster {

// Parses "2h", "90s", "3d", "1h30m" as a time before `now`; parses "2026-11-25", "2026-11-25 14:30",
// "2026-11-25T14:30:05" as a time in `zone`. Returns milliseconds since 1970; 0 for an empty text. The error says what
// is expected.
absl::StatusOr<int64_t> ParseSince(const std::string& text, absl::Time now, absl::TimeZone zone);

}  // namespace muster
