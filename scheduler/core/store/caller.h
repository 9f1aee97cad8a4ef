// Decides whether a node may use the data that the nodes of a round share: the store, and the lighthouses.
#pragma once

#include <string>

#include "absl/status/status.h"
#include "muster/v1/store.pb.h"
#include "scheduler/core/state/state.h"

namespace muster::scheduler {

// Returns FAILED_PRECONDITION if the caller's round is not under way, or if the node has no part in it. `run` is null
// if the run is not known. Returns PERMISSION_DENIED if the node joined with another name in its certificate. An empty
// `identity` is not compared.
absl::Status CheckCaller(const Run* run, const v1::StoreCaller& caller, const std::string& identity);

}  // namespace muster::scheduler
