// Finds the Ascend devices of this node's processes and the addresses of the devices' network ports, which a rank table
// needs.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "common/base/clock.h"
#include "muster/v1/types.pb.h"
#include "worker_agent/machine/host_roots.h"
#include "worker_agent/settings/agent_settings.h"

namespace muster::agent {

// Returns the addresses in the text of /etc/hccn.conf, by device number. Device 0's line is address_0=192.168.100.101.
// Skips other lines, and values that are no address.
std::map<uint32_t, std::string> ParseHccnConf(const std::string& text);

// Returns the address in the output of `hccn_tool -i N -ip -g`, which has a line ipaddr:192.168.100.101. Empty: it has
// no such line.
std::string ParseHccnTool(const std::string& output);

struct DeviceSearch {
  HostRoots roots;
  std::string search_path;                         // PATH, to find hccn_tool; relative folders in it are ignored
  absl::Duration call_limit = absl::Seconds(3);    // for one call of hccn_tool
  absl::Duration whole_limit = absl::Seconds(15);  // for all calls together
  const Clock* clock = &Clock::System();
};

// Returns the path of hccn_tool, with all symbolic links resolved. Empty: there is none, or (as root) none that only
// root can change; `reasons` then says why.
std::string FindHccnTool(const DeviceSearch& search, std::vector<std::string>& reasons);

// Returns the text of /etc/hccn.conf. The error says why the file is not used.
absl::StatusOr<std::string> ReadHccnConf(const DeviceSearch& search);

// Fills in the device id of each slot that has none. With --hccl_mode table also fills in each slot's device address
// and super device id, and the node's super pod. Calls hccn_tool if it must, and blocks meanwhile, at most whole_limit.
// Adds to `warnings` why an address is not known. The error names a setting that does not fit the number of slots.
absl::Status AddDevices(const AgentSettings& settings, const DeviceSearch& search, v1::NodeInfo& node,
                        std::vector<std::string>& warnings);

}  // namespace muster::agent
