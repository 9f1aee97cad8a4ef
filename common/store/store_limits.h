// What a key and a value of a job's store may be. The same at every end.
#pragma once

#include <absl/status/status.h>

#include <cstddef>
#include <string>

namespace muster {

// What a value counts for in a store: its bytes, its key's and its writer's, and what it takes to keep them.
size_t StoredBytes(const std::string& key, const std::string& value, const std::string& writer = "");

// INVALID_ARGUMENT with what was found and what is allowed.
absl::Status CheckStoreKey(const std::string& key);
absl::Status CheckStoreValue(const std::string& value);

}  // namespace muster
