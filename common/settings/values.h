// Parses the words of flags, variables and config lines. Pure.
//
// Errors say the rule only ("must be a whole number from 1 to 8"); the caller adds the setting, the value, the source.
#pragma once

#include <cstdint>
#include <string>

#include "absl/status/statusor.h"
#include "absl/time/time.h"

namespace muster {

// Blanks around the number are allowed.
absl::StatusOr<int64_t> ParseWholeNumber(const std::string& text, int64_t low, int64_t high);

// Parses 1, true, yes, on; 0, false, no, off; capitals or not.
absl::StatusOr<bool> ParseBool(const std::string& text);

// Parses "0.5" and "10" as seconds; "500ms", "10s", "5m", "2h". A negative number is InfiniteDuration if
// `allows_forever`.
absl::StatusOr<absl::Duration> ParseDuration(const std::string& text, absl::Duration low, absl::Duration high,
                                             bool allows_forever);

// Accepts a job id or node id as IsId does.
absl::Status CheckId(const std::string& text);

}  // namespace muster
