// What a key and a value of a job's store may be. The same at every end.
#pragma once

#include <absl/status/status.h>

#include <string>

namespace muster {

// INVALID_ARGUMENT with what was found and what is allowed.
absl::Status CheckStoreKey(const std::string& key);
absl::Status CheckStoreValue(const std::string& value);

}  // namespace muster
