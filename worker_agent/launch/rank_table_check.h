// The rules of a rank table that concern several of its entries; rank_table.cc reads the entries themselves.
#pragma once

#include <nlohmann/json_fwd.hpp>

#include "absl/status/status.h"
#include "worker_agent/launch/rank_table.h"

namespace muster::agent {

// Rank ids 0..N-1, each once.
absl::Status CheckRanks(const RankTable& table);

// Server ids unique; device ids unique within a server.
absl::Status CheckServers(const RankTable& table);

// Device addresses present where they are needed, unique, as many everywhere. `has_one_pod`: all servers stand in one
// super pod, whose own links need no device addresses.
absl::Status CheckDeviceAddresses(const RankTable& table, bool has_one_pod);

// super_pod_list of version 1.2: every server in exactly one pod.
absl::Status CheckPods(const RankTable& table, const nlohmann::json& pods);

}  // namespace muster::agent
