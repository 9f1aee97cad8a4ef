// The rank table of a round, made from its nodes' reports of their devices. Pure.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "muster/v1/types.pb.h"

namespace muster::agent {

// One worker and its device. Empty texts are not known.
struct RankedDevice {
  uint32_t rank = 0;
  uint32_t machine = 0;   // NODE_RANK
  std::string address;    // the machine's, as its peers see it
  std::string node_id;    // for messages
  std::string device_id;  // the physical one
  std::string device_ip;  // of the device's own network port
  std::string super_pod;  // all or none have one
  std::string super_device_id;
};

// Returns the devices of the workers; parameter servers have none.
std::vector<RankedDevice> DevicesOf(const v1::PeerList& peers);

// Returns the table as a JSON text: version 1.0, or 1.2 where the nodes have reported their super pods. A server is a
// machine, its server_id the address of its first node. The result keeps all rules of CheckRankTable; the error says
// which one it would break, at which node, and what to do.
absl::StatusOr<std::string> RankTableText(std::vector<RankedDevice> devices);

}  // namespace muster::agent
