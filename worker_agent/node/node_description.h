// This node's own description for its join: drawn from the settings and the machine.
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
  TableDevices table_devices;           // of the rank table; empty: there is none
  std::vector<ReservedPort> ports;      // hold them for as long as the agent lives
  std::vector<uint16_t> gateway_ports;  // of them, one for each slot; empty: --mindspore_gateway is off, or they are …
  std::string no_gateway;               // … not to be had: why
  std::optional<std::vector<IpAddress>> own_name;  // what this host's name resolves to; nullopt: not known
  std::vector<std::string> warnings;               // for people
  std::string own_address;                         // where peers reach us, as far as is known here; empty: not known
};

// The addresses of the names in the settings.
struct KnownNames {
  std::vector<IpAddress> scheduler;  // of sched_host; empty: not known
  std::vector<IpAddress> master;     // of torch_master_addr (MASTER_ADDR); empty: it is not set
};

// Describes this node. `devices`: the choice for --devices. Blocks on this host's own name for 1 s at most, with
// --hccl_mode table on hccn_tool for 15 s at most. The error names the setting that is wrong.
absl::StatusOr<NodeDescription> DescribeNode(const AgentSettings& settings,
                                             const std::map<std::string, std::string>& environment,
                                             const DeviceChoice& devices, const KnownNames& names);

// Takes the number of workers from the rank table (--rank_table_file), where none was given. Then, and with
// --standalone, also as many slots here as the table has devices of this machine, unless `has_slots`
// (--local_worker_num was given). The error is about the table.
absl::Status TakeSizeOfRankTable(AgentSettings& settings, bool has_slots);

// Returns --local_worker_num, with auto settled.
uint32_t SlotCount(const AgentSettings& settings, const std::map<std::string, std::string>& environment);

// Returns a random number, never 0.
uint64_t NewIncarnation();

}  // namespace muster::agent
