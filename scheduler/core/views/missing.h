// Whom a run waits for, node by node: `ms-ctl nodes --missing`. Pure.
#pragma once

#include "muster/v1/admin.pb.h"
#include "scheduler/core/context/context.h"

namespace muster::scheduler {

v1::MissingNodes MissingOf(const Context& context, const Run& run);

}  // namespace muster::scheduler
