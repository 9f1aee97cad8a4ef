// The addresses at which processes look for rank 0, from a node's own variables: MASTER_ADDR, MASTER_PORT, CM_CHIEF_IP,
// CM_CHIEF_PORT, JAX_COORDINATOR_ADDRESS. The user may set them, so nodes may differ, and then all but one wait where
// nothing listens. They travel with the join as facts (NodeInfo.host_facts) under the variables' names; the scheduler
// compares each node's with those of rank 0's node. Pure.
//
// (The variables about the node itself, HCCL_IF_IP and CM_WORKER_IP, differ from node to node as they should.)
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

inline constexpr size_t kMaxEndpointBytes = 256;  // of a value; a longer one is no host's, and is not sent
inline constexpr size_t kMaxEndpointRemarks = 8;  // of a node

// Adds the variables that are set.
void AddEndpointFacts(const std::map<std::string, std::string>& endpoints, v1::NodeInfo& node);

// The node that has rank 0, and the master's address in the round.
struct FirstNode {
  std::string name;  // for people
  const v1::NodeInfo* info = nullptr;
  std::string master_address;
  uint32_t master_port = 0;
};

// Returns one line for each thing that the processes of `node` would look for in the wrong place, with the remedy.
std::vector<std::string> EndpointRemarks(const v1::NodeInfo& node, const FirstNode& first);

}  // namespace muster
