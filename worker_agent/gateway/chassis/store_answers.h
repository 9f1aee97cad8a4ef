// Answers of the job's store, as the gateways read them.
#pragma once

#include <optional>
#include <string>

#include "absl/status/statusor.h"
#include "common/store/job_store.h"

namespace muster::agent {

using StoreValue = absl::StatusOr<std::optional<std::string>>;  // what a key holds

// Returns the value of `key` from `page`, the answer to a List of one key with the prefix `key`. Gateways use List
// where they need the current value, because Get may read the agent's copy.
inline StoreValue HeldIn(const absl::StatusOr<JobStore::Listing>& page, const std::string& key) {
  if (!page.ok()) return page.status();
  if (page->entries.empty() || page->entries.front().first != key) return std::nullopt;
  return page->entries.front().second;
}

// True if it is unknown whether the store has carried out the request. The caller must repeat it to be sure.
inline bool ComesAgain(const absl::Status& status) {
  return absl::IsUnavailable(status) || absl::IsDeadlineExceeded(status);
}

}  // namespace muster::agent
