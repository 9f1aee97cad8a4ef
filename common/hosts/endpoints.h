// Compares, between nodes, the variables that contain rank 0's address: MASTER_ADDR, MASTER_PORT, CM_CHIEF_IP,
// CM_CHIEF_PORT, JAX_COORDINATOR_ADDRESS. The user may set them, so they may differ between nodes. Then processes wait
// at an address where nothing listens. A node sends the variables with its join, as facts (NodeInfo.host_facts) under
// the variables' names. The scheduler compares them with those of rank 0's node. Pure.
//
// HCCL_IF_IP and CM_WORKER_IP are not compared: they are about the node itself, so they differ from node to node as
// they should.
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

inline constexpr size_t kMaxEndpointBytes = 256;  // of a value; a longer one can't be an address and is not sent
inline constexpr size_t kMaxEndpointRemarks = 8;  // most remarks for one node

// Adds the variables to the node's facts, except those that are empty or too long (kMaxEndpointBytes).
void AddEndpointFacts(const std::map<std::string, std::string>& endpoints, v1::NodeInfo& node);

// The node with rank 0, and the master's address and port in the round.
struct FirstNode {
  std::string name;  // for people
  const v1::NodeInfo* info = nullptr;
  std::string master_address;
  uint32_t master_port = 0;
};

// Returns a remark for each variable that sends the processes of `node` to a wrong place. Each remark says what to do.
std::vector<std::string> EndpointRemarks(const v1::NodeInfo& node, const FirstNode& first);

}  // namespace muster
