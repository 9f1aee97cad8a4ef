// Checks the limits of a store's keys and values, in the same way in agents and the scheduler.
#pragma once

#include <absl/status/status.h>

#include <cstddef>
#include <string>

namespace muster {

// Returns the room that a value takes in a store: the bytes of key, value and writer, plus a fixed overhead.
size_t StoredBytes(const std::string& key, const std::string& value, const std::string& writer = "");

// Return INVALID_ARGUMENT if the limit is exceeded, with the size that was found and the one that is allowed.
absl::Status CheckStoreKey(const std::string& key);
absl::Status CheckStoreValue(const std::string& value);

}  // namespace muster
