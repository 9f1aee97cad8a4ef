// The Ascend devices of this node's processes, and the addresses of their network ports, for rank tables.
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

// Returns the addresses in the text of /etc/hccn.conf, by device: address_0=192.168.100.101. Other lines, and values
// that are no address, are skipped.
std::map<uint32_t, std::string> ParseHccnConf(const std::string& text);

// Returns the address in the output of `hccn_tool -i N -ip -g`: ipaddr:192.168.100.101. Empty: there is none.
std::string ParseHccnTool(const std::string& output);

struct DeviceSearch {
  HostRoots roots;
  std::string search_path;                         // PATH, for hccn_tool; relative folders are left out
  absl::Duration call_limit = absl::Seconds(3);    // of one call of hccn_tool
  absl::Duration whole_limit = absl::Seconds(15);  // of all of them
  const Clock* clock = &Clock::System();
};

// Returns hccn_tool's own path, with no link in it; empty: there is none that may be used. Adds to `reasons` why one is
// not used.
std::string FindHccnTool(const DeviceSearch& search, std::vector<std::string>& reasons);

// Returns the text of /etc/hccn.conf. The error says why it is not used.
absl::StatusOr<std::string> ReadHccnConf(const DeviceSearch& search);

// Fills in device id, device address and super device id of each slot, and the node's super pod, as --hccl_mode wants
// them. A device id that a slot has already stays. Blocks for as long as hccn_tool may take. `warnings`: why an address
// is not known. The error names the setting that doesn't fit.
absl::Status AddDevices(const AgentSettings& settings, const DeviceSearch& search, v1::NodeInfo& node,
                        std::vector<std::string>& warnings);

}  // namespace muster::agent
