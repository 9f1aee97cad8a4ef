// What the job's store answers, as those who ask it here see it.
#pragma once

#include <optional>
#include <string>

#include "absl/status/statusor.h"

namespace muster::jax {

using StoreValue = absl::StatusOr<std::optional<std::string>>;  // what a key holds

// What was asked has perhaps not been done, and may be asked for again.
inline bool ComesAgain(const absl::Status& status) {
  return absl::IsUnavailable(status) || absl::IsDeadlineExceeded(status);
}

}  // namespace muster::jax
