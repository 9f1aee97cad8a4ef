// The building bricks of validation.cc: each returns an error that names the field. Pure.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "absl/status/status.h"

namespace muster::scheduler {

// What IsId takes; an optional one may be empty.
absl::Status CheckId(const std::string& field, const std::string& value);
absl::Status CheckOptionalId(const std::string& field, const std::string& value);

// One line for people: at most `limit` bytes, no control characters.
absl::Status CheckLine(const std::string& field, const std::string& value, size_t limit);

// Output of a process: at most `limit` bytes, any characters (the log escapes them).
absl::Status CheckSize(const std::string& field, const std::string& value, size_t limit);

// Empty or a numeric IPv4 or IPv6 address.
absl::Status CheckOptionalAddress(const std::string& field, const std::string& value);

absl::Status CheckPort(const std::string& field, uint32_t value);

absl::Status CheckRange(const std::string& field, int64_t value, int64_t low, int64_t high);

}  // namespace muster::scheduler
