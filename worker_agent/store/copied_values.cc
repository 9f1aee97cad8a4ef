#include "worker_agent/store/copied_values.h"

#include <utility>

#include "common/base/limits.h"
#include "common/store/store_limits.h"

namespace muster::agent {

const CopiedValues::Copy* CopiedValues::Find(const std::string& key) const {
  const auto found = copies_.find(key);
  return found == copies_.end() || found->second.version < at_least_ ? nullptr : &found->second;
}

std::optional<std::string> CopiedValues::ValueOf(const std::string& key) const {
  const Copy* copy = Find(key);
  return copy == nullptr ? std::nullopt : std::optional<std::string>(copy->value);
}

void CopiedValues::Keep(const std::string& key, uint64_t version, std::optional<std::string> value,
                        MonotonicTime good_until) {
  const Copy* present = Find(key);
  if (present != nullptr && version < present->version) return;
  Forget(key);
  if (!value) return;
  while (!copies_.empty() && (bytes_ + StoredBytes(key, *value) > kMaxStoreBytes || copies_.size() >= kMaxStoreKeys)) {
    Forget(std::string(copies_.begin()->first));
  }
  bytes_ += StoredBytes(key, *value);
  copies_[key] = Copy{*std::move(value), version, good_until};
}

void CopiedValues::Forget(const std::string& key) {
  const auto found = copies_.find(key);
  if (found == copies_.end()) return;
  bytes_ -= StoredBytes(key, found->second.value);
  copies_.erase(found);
}

}  // namespace muster::agent
