// The settings that all nodes of a run agree on: who may say what, and who is refused.
#pragma once

#include <optional>
#include <string>

#include "muster/v1/rendezvous.pb.h"
#include "scheduler/core/state/options.h"
#include "scheduler/core/state/state.h"

namespace muster::scheduler {

// Of a run that a join with these settings opens.
v1::JobSettings FirstSettings(const OwnSettings& own, const v1::JobSettings& joins);

// Of a forming run once this join is in it. The join has passed CheckSettings.
v1::JobSettings AgreedSettings(const Run& run, const v1::JobSettings& joins);

// Of a forming run when this node is gone. The numbers of workers and servers hold as long as anybody is there, because
// the others came in under them.
v1::JobSettings SettingsWithout(const OwnSettings& own, const Run& run, const std::string& leaving_id);

// Why the join can't agree with the run's settings; nullopt if it does.
std::optional<v1::Refusal> CheckSettings(const Run& run, const OwnSettings& own, const v1::Join& join);

}  // namespace muster::scheduler
