// Where processes are to find rank 0, as a node's own variables say it: MASTER_ADDR, MASTER_PORT, CM_CHIEF_IP,
// CM_CHIEF_PORT, JAX_COORDINATOR_ADDRESS. They are the user's when set, so each node may say something else, and all
// but one of them would wait where nobody listens. They travel with the join as facts (NodeInfo.host_facts), under the
// variables' names; the scheduler compares each node's with those of rank 0's node. Pure.
//
// (What a node says of itself, HCCL_IF_IP and CM_WORKER_IP, differs from node to node as it should.)
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "muster/v1/types.pb.h"

namespace muster {

inline constexpr char kMasterAddress[] = "MASTER_ADDR";
inline constexpr char kMasterPort[] = "MASTER_PORT";
inline constexpr char kChiefAddress[] = "CM_CHIEF_IP";
inline constexpr char kChiefPort[] = "CM_CHIEF_PORT";
inline constexpr char kJaxCoordinator[] = "JAX_COORDINATOR_ADDRESS";

inline constexpr size_t kMaxEndpointBytes = 256;  // of a value; a longer one is no host's, and is not told
inline constexpr size_t kMaxEndpointRemarks = 8;  // of a node

// Adds those that are set.
void AddEndpointFacts(const std::map<std::string, std::string>& endpoints, v1::NodeInfo& node);

// The node that has rank 0, and where the round says that the master is.
struct FirstNode {
  std::string name;  // for people
  const v1::NodeInfo* info = nullptr;
  std::string master_address;
  uint32_t master_port = 0;
};

// What the processes of `node` would look for in the wrong place; one line each, with the remedy.
std::vector<std::string> EndpointRemarks(const v1::NodeInfo& node, const FirstNode& first);

}  // namespace muster
