// What the job's store answers, as those who ask it here see it.
#pragma once

#include <optional>
#include <string>

#include "absl/status/statusor.h"
#include "common/store/job_store.h"

namespace muster::agent {

using StoreValue = absl::StatusOr<std::optional<std::string>>;  // what a key holds

// What `key` holds, by a List of the first key that begins so: never of a copy, unlike Get.
inline StoreValue HeldIn(const absl::StatusOr<JobStore::Listing>& page, const std::string& key) {
  if (!page.ok()) return page.status();
  if (page->entries.empty() || page->entries.front().first != key) return std::nullopt;
  return page->entries.front().second;
}

// What was asked has perhaps not been done, and may be asked for again.
inline bool ComesAgain(const absl::Status& status) {
  return absl::IsUnavailable(status) || absl::IsDeadlineExceeded(status);
}

}  // namespace muster::agent
