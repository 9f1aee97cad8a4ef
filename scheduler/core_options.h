// From settings to what the core is told.
#pragma once

#include "muster/v1/types.pb.h"
#include "scheduler/core/core.h"
#include "scheduler/scheduler_settings.h"

namespace muster::scheduler {

CoreOptions MakeCoreOptions(const SchedulerSettings& settings);

// A random name for a fresh cluster.
std::string NewClusterId();

// What --once ends with.
int ExitCodeOf(const v1::Outcome& outcome);

}  // namespace muster::scheduler
