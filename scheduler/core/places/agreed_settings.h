// The settings that all nodes of a run agree on: which node may set what, and which node is refused.
#pragma once

#include <optional>
#include <string>

#include "muster/v1/rendezvous.pb.h"
#include "scheduler/core/state/options.h"
#include "scheduler/core/state/state.h"

namespace muster::scheduler {

// Returns the settings of a run that a join with these settings opens.
v1::JobSettings FirstSettings(const OwnSettings& own, const v1::JobSettings& joins);

// Returns the settings of a forming run once this join is in it. The join has passed CheckSettings.
v1::JobSettings AgreedSettings(const Run& run, const v1::JobSettings& joins);

// Returns the settings of a forming run once this node is gone. The numbers of workers and servers hold as long as any
// node is there, because the others came in under them.
v1::JobSettings SettingsWithout(const OwnSettings& own, const Run& run, const std::string& leaving_id);

// Returns why the join can't agree with the run's settings; nullopt if it does.
std::optional<v1::Refusal> CheckSettings(const Run& run, const OwnSettings& own, const v1::Join& join);

}  // namespace muster::scheduler
