// Whether a call of the Store service is well formed. Pure.
#pragma once

#include <cstddef>

#include "absl/status/status.h"
#include "scheduler/core/events.h"

namespace muster::scheduler {

// INVALID_ARGUMENT names the field.
absl::Status CheckStoreOperation(const StoreOperation& operation);

const v1::StoreCaller& CallerOf(const StoreOperation& operation);

// What it takes to keep it until it is answered.
size_t BytesOf(const StoreOperation& operation);

}  // namespace muster::scheduler
