// Converts the settings into the core's options.
#pragma once

#include <map>
#include <string>

#include "muster/v1/types.pb.h"
#include "scheduler/core/state/options.h"
#include "scheduler/scheduler_settings.h"

namespace muster::scheduler {

// `sources`: where each setting came from (LoadResult::sources). With --once, which serves one job, a value from the
// environment is a rule. Without it, it is the default for nodes that give none, since the user may have set it for one
// of the jobs.
CoreOptions MakeCoreOptions(const SchedulerSettings& settings, const std::map<std::string, std::string>& sources);

// Returns a random name for a new cluster.
std::string NewClusterId();

// Returns the exit code of --once.
int ExitCodeOf(const v1::Outcome& outcome);

}  // namespace muster::scheduler
