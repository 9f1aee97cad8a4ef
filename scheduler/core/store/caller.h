// Decides whether a node may ask for what the nodes of a round share.
#pragma once

#include <string>

#include "absl/status/status.h"
#include "muster/v1/store.pb.h"
#include "scheduler/core/state/state.h"

namespace muster::scheduler {

// Returns FAILED_PRECONDITION if that round is not under way (`run` null: not known), or the node has no part in it;
// PERMISSION_DENIED if it joined with another name in its certificate. An empty `identity` is not compared.
absl::Status CheckCaller(const Run* run, const v1::StoreCaller& caller, const std::string& identity);

}  // namespace muster::scheduler
