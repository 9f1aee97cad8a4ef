// The settings that all nodes of a run must agree on: which value the run gets, and which node is refused.
#pragma once

#include <optional>
#include <string>

#include "muster/v1/rendezvous.pb.h"
#include "scheduler/core/state/options.h"
#include "scheduler/core/state/state.h"

namespace muster::scheduler {

// Returns the settings of a new run that is opened by a join with the settings `joins`. `own` are the scheduler's.
v1::JobSettings FirstSettings(const OwnSettings& own, const v1::JobSettings& joins);

// Returns the settings of a forming run after a join with the settings `joins`. The join must have passed
// CheckSettings.
v1::JobSettings AgreedSettings(const Run& run, const v1::JobSettings& joins);

// Returns the settings of a forming run without those of the node that leaves. The numbers of workers and servers stay
// as long as any node remains, because the remaining nodes were admitted with these numbers.
v1::JobSettings SettingsWithout(const OwnSettings& own, const Run& run, const std::string& leaving_id);

// Returns a refusal if the join's settings do not agree with the run's; nullopt if they do.
std::optional<v1::Refusal> CheckSettings(const Run& run, const OwnSettings& own, const v1::Join& join);

}  // namespace muster::scheduler
