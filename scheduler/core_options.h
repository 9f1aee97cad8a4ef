// Converts the settings into the core's options.
#pragma once

#include <map>
#include <string>

#include "muster/v1/types.pb.h"
#include "scheduler/core/state/options.h"
#include "scheduler/scheduler_settings.h"

namespace muster::scheduler {

// Returns the core's options. `sources` names the source of each setting (LoadResult::sources). A setting on which
// nodes must agree is a rule if it comes from a flag or a config file: nodes with another value are refused. A value
// from the environment is a rule only with --once. Without --once it is a default for nodes that set no value, because
// the user may have set the variable for only one of several jobs.
CoreOptions MakeCoreOptions(const SchedulerSettings& settings, const std::map<std::string, std::string>& sources);

// Returns a random name for a new cluster.
std::string NewClusterId();

}  // namespace muster::scheduler
