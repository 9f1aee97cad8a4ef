// Answers of the job's store, as the gateways read them.
#pragma once

#include <optional>
#include <string>

#include "absl/status/statusor.h"
#include "common/store/job_store.h"

namespace muster::agent {

using StoreValue = absl::StatusOr<std::optional<std::string>>;  // what a key holds

// Returns what `key` holds, from a List of the first key with that prefix. A List never reads a copy, unlike Get.
inline StoreValue HeldIn(const absl::StatusOr<JobStore::Listing>& page, const std::string& key) {
  if (!page.ok()) return page.status();
  if (page->entries.empty() || page->entries.front().first != key) return std::nullopt;
  return page->entries.front().second;
}

// True if the request was perhaps not carried out, and may be repeated.
inline bool ComesAgain(const absl::Status& status) {
  return absl::IsUnavailable(status) || absl::IsDeadlineExceeded(status);
}

}  // namespace muster::agent
