// The limits of a store's keys and values. The same at every end.
#pragma once

#include <absl/status/status.h>

#include <cstddef>
#include <string>

namespace muster {

// Returns the room that a value takes in a store: its bytes, its key's and its writer's, and a fixed overhead.
size_t StoredBytes(const std::string& key, const std::string& value, const std::string& writer = "");

// Returns INVALID_ARGUMENT with what was found and what is allowed.
absl::Status CheckStoreKey(const std::string& key);
absl::Status CheckStoreValue(const std::string& value);

}  // namespace muster
