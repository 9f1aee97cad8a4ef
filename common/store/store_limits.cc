#include "common/store/store_limits.h"

#include <absl/strings/str_cat.h>

#include "common/base/limits.h"

namespace muster {

size_t StoredBytes(const std::string& key, const std::string& value, const std::string& writer) {
  return key.size() + value.size() + writer.size() + kStoredOverheadBytes;
}

absl::Status CheckStoreKey(const std::string& key) {
  if (key.empty()) return absl::InvalidArgumentError("the key of a value is empty");
  if (key.size() <= kMaxStoreKeyBytes) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("a key has ", key.size(), " bytes; at most ", kMaxStoreKeyBytes, " are allowed"));
}

absl::Status CheckStoreValue(const std::string& value) {
  if (value.size() <= kMaxStoreValueBytes) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("a value has ", value.size(), " bytes; at most ", kMaxStoreValueBytes, " are allowed"));
}

}  // namespace muster
