// Parses values of flags, variables and config lines. Pure.
//
// Errors state only the rule ("must be a whole number from 1 to 8"). The caller adds the setting, the value and the
// source.
#pragma once

#include <cstdint>
#include <string>

#include "absl/status/statusor.h"
#include "absl/time/time.h"

namespace muster {

// Parses a whole number from `low` to `high`. Blanks around it are allowed.
absl::StatusOr<int64_t> ParseWholeNumber(const std::string& text, int64_t low, int64_t high);

// Parses 1, true, yes or on, and 0, false, no or off, in capital or small letters.
absl::StatusOr<bool> ParseBool(const std::string& text);

// Parses "0.5" and "10" as seconds, and "500ms", "10s", "5m", "2h" by their units. With `allows_forever`, a negative
// number means InfiniteDuration.
absl::StatusOr<absl::Duration> ParseDuration(const std::string& text, absl::Duration low, absl::Duration high,
                                             bool allows_forever);

// Accepts a job id or node id by the rule of IsId (common/base/ids.h).
absl::Status CheckId(const std::string& text);

}  // namespace muster
