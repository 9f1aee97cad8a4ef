// The basic checks of one field of a message. Each returns INVALID_ARGUMENT that names the field. Pure.
#pragma once

#include <cstdint>
#include <string>

#include "absl/status/status.h"

// If `check` is an error, returns it from the function that contains this line.
#define MUSTER_REQUIRE(check)                                          \
  do {                                                                 \
    if (absl::Status status_ = (check); !status_.ok()) return status_; \
  } while (false)

namespace muster::scheduler {

// Requires an id as in IsId; an empty one is allowed.
absl::Status CheckOptionalId(const std::string& field, const std::string& value);
absl::Status CheckId(const std::string& field, const std::string& value);
// Checks text that may have any characters, such as a process's output: at most `limit` bytes. (The log escapes it.)
absl::Status CheckSize(const std::string& field, const std::string& value, size_t limit);
// Checks one line for people: at most `limit` bytes, no control characters.
absl::Status CheckLine(const std::string& field, const std::string& value, size_t limit);
// Allows an empty or numeric IPv4 or IPv6 address.
absl::Status CheckOptionalAddress(const std::string& field, const std::string& value);
// Does the same for an address that other nodes use: also refuses a link-local address, because they could not reach
// it.
absl::Status CheckReportedAddress(const std::string& field, const std::string& value);
absl::Status CheckRange(const std::string& field, int64_t value, int64_t low, int64_t high);
absl::Status CheckPort(const std::string& field, uint32_t value);

}  // namespace muster::scheduler
