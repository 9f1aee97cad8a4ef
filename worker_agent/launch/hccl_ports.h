// The TCP ports of HCCL, as these variables name them (hiascend.com, hcclenvref_07_0020 and _0021):
//
//   HCCL_IF_BASE_PORT             host: the first of 16 ports
//   HCCL_HOST_SOCKET_PORT_RANGE   host: ports, or `auto`; if it is set, HCCL ignores HCCL_IF_BASE_PORT
//   HCCL_NPU_SOCKET_PORT_RANGE    the devices' own network: ports, or `auto`; default 16666
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "common/base/number_list.h"

namespace muster::agent {

inline constexpr char kHcclBasePortVariable[] = "HCCL_IF_BASE_PORT";
inline constexpr char kHcclHostPortsVariable[] = "HCCL_HOST_SOCKET_PORT_RANGE";
inline constexpr char kHcclDevicePortsVariable[] = "HCCL_NPU_SOCKET_PORT_RANGE";

inline constexpr uint32_t kHcclBasePort = 60000;  // HCCL_IF_BASE_PORT's default
inline constexpr uint32_t kHcclPorts = 16;        // the number of ports from HCCL_IF_BASE_PORT on

enum class PortChoice {
  kNotSet,
  kAuto,        // the system chooses the ports
  kRanges,      // the user has named them
  kPerProcess,  // --env has a placeholder, so the value differs between processes
};

// The value of one of the two variables for ranges.
struct SocketPorts {
  PortChoice choice = PortChoice::kNotSet;
  std::vector<NumberRange> ranges;  // only with kRanges; as written; no two of them share a port
};

// The ports of HCCL's processes on this node.
struct HcclPorts {
  SocketPorts host;
  SocketPorts device;
  uint32_t base_port = kHcclBasePort;

  // Returns the host's ports that are known before the start; empty: the system chooses them, or a placeholder does.
  std::vector<NumberRange> HostRanges() const;
  // Returns the name of the variable that decides the host's ports.
  const char* HostVariable() const;
};

// Parses a value as HCCL does: spaces don't count. The error names the variable, the value, and what HCCL takes.
absl::StatusOr<SocketPorts> ParseSocketPorts(const std::string& variable, const std::string& value);

// Parses the variable's value from --env, else the inherited one.
absl::StatusOr<SocketPorts> FindSocketPorts(const std::string& variable,
                                            const std::map<std::string, std::string>& env_setting,
                                            const std::map<std::string, std::string>& environment);

// Returns "61000,61050-61100".
std::string ShowPorts(const std::vector<NumberRange>& ranges);

}  // namespace muster::agent
