// Makes the rank table of a round from the devices that its nodes have reported. Pure functions.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "muster/v1/types.pb.h"

namespace muster::agent {

// One worker and its device. An empty text: not known.
struct RankedDevice {
  uint32_t rank = 0;
  uint32_t machine = 0;   // its number, NODE_RANK
  std::string address;    // of the machine, as its peers see it
  std::string node_id;    // used in messages only
  std::string device_id;  // the device's physical number
  std::string device_ip;  // of the device's own network port
  std::string super_pod;  // RankTableText wants it for all devices or for none
  std::string super_device_id;
};

// Returns one entry for each worker of the round; parameter servers have no device.
std::vector<RankedDevice> DevicesOf(const v1::PeerList& peers);

// Returns the table as a JSON text: version 1.2 if the nodes have reported their super pods, else 1.0. A server of the
// table is a machine, and its server_id is the address of its first rank's node. The result passes CheckRankTable. The
// error says which rule the table would break, where, and what to do.
absl::StatusOr<std::string> RankTableText(std::vector<RankedDevice> devices);

}  // namespace muster::agent
