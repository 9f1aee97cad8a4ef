// From settings to what the core is told.
#pragma once

#include <map>
#include <string>

#include "muster/v1/types.pb.h"
#include "scheduler/core/state/options.h"
#include "scheduler/scheduler_settings.h"

namespace muster::scheduler {

// `sources`: where each setting came from (LoadResult::sources). A value of the environment is a rule with --once,
// which serves one job; else it is what nodes get that say nothing, since whoever started the scheduler may have had
// one of its jobs in mind.
CoreOptions MakeCoreOptions(const SchedulerSettings& settings, const std::map<std::string, std::string>& sources);

// A random name for a fresh cluster.
std::string NewClusterId();

// What --once ends with.
int ExitCodeOf(const v1::Outcome& outcome);

}  // namespace muster::scheduler
