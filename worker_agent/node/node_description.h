// Makes the description of this node for its join, from the settings and the machine.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "common/net/ip_address.h"
#include "worker_agent/devices/device_choice.h"
#include "worker_agent/launch/port_reservation.h"
#include "worker_agent/launch/table_devices.h"
#include "worker_agent/settings/agent_settings.h"

namespace muster::agent {

struct NodeDescription {
  v1::NodeInfo node;
  v1::JobSettings settings;
  TableDevices table_devices;           // the rank table's devices, by rank; empty: there is no table
  std::vector<ReservedPort> ports;      // must live as long as the agent
  std::vector<uint16_t> gateway_ports;  // those for MindSpore's gateway, one for each slot; empty: it gets none
  std::string no_gateway;               // why no ports for the gateway could be reserved; empty: no failure
  std::optional<std::vector<IpAddress>> own_name;  // what this host's name resolves to; nullopt: not known
  std::vector<std::string> warnings;               // for people
  std::string own_address;                         // the address where peers reach this node; empty: not known
};

// The addresses of host names in the settings, which were resolved before.
struct KnownNames {
  std::vector<IpAddress> scheduler;  // of sched_host; empty: not known
  std::vector<IpAddress> master;     // of torch_master_addr (MASTER_ADDR); empty: it is not set
};

// Describes this node. `devices`: the choice for --devices. Blocks for at most 1 s to resolve this host's own name,
// and, with --hccl_mode table, for at most 15 s to run hccn_tool. The error names the setting that is wrong.
absl::StatusOr<NodeDescription> DescribeNode(const AgentSettings& settings,
                                             const std::map<std::string, std::string>& environment,
                                             const DeviceChoice& devices, const KnownNames& names);

// If a rank table (--rank_table_file) but no number of workers is given, sets worker_num to the table's number of
// ranks. In that case, and with --standalone, also sets local_worker_num to the number of this machine's devices in the
// table. It does not if `has_slots`: the user has given --local_worker_num. The error is about the table.
absl::Status TakeSizeOfRankTable(AgentSettings& settings, bool has_slots);

// Returns the number of this node's slots: --local_worker_num, where "auto" is replaced by a number.
uint32_t SlotCount(const AgentSettings& settings, const std::map<std::string, std::string>& environment);

// Returns a random number, never 0.
uint64_t NewIncarnation();

}  // namespace muster::agent
