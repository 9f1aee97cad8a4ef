// Finds mistakes that show only when a job's hosts are compared, from the facts that agents report with --preflight
// host and command. Pure. The scheduler compares the hosts before a round, because only the scheduler knows all nodes
// then. ms-ctl preflight shows the result.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "muster/v1/types.pb.h"

namespace muster {

// Names of facts. A fact that lists devices has a value like "0=192.168.100.101,1=192.168.101.101".
inline constexpr char kFactKind[] = "kind";        // "Ascend 910", "Ascend A2", "Ascend A3", "Ascend", "NVIDIA", "CPU"
inline constexpr char kFactDevices[] = "devices";  // how many devices this agent's processes get
inline constexpr char kFactDriver[] = "driver";
inline constexpr char kFactNic[] = "nic";
inline constexpr char kFactMtu[] = "mtu";
inline constexpr char kFactTls[] = "tls";               // of the devices: "on", "off"
inline constexpr char kFactAddresses[] = "addresses";   // of the devices: a list
inline constexpr char kFactSegments[] = "segments";     // of the devices: a list
inline constexpr char kFactClock[] = "clock";           // in a join: the node's Unix time in ms; the scheduler replaces
                                                        // it by how many ms the clock is ahead of its own
inline constexpr char kFactFatal[] = "fatal";           // --preflight_fatal: "warning", "error"
inline constexpr char kFactNodeCheck[] = "node_check";  // "on": the agent can run --node_check again
inline constexpr char kFactScore[] = "score";           // of --node_check: a positive number; larger is slower
inline constexpr char kFactStragglerRatio[] = "straggler_ratio";  // --straggler_ratio
inline constexpr char kFactStragglers[] = "stragglers";           // --exclude_stragglers: kExcluded
inline constexpr char kExcluded[] = "excluded";
inline constexpr double kUsualStragglerRatio = 2;

// The kinds of the values of HCCL_HOST_SOCKET_PORT_RANGE and HCCL_NPU_SOCKET_PORT_RANGE: kPortsNotSet, "auto", "a
// range". Nodes without HCCL don't report them.
inline constexpr char kFactHostPorts[] = "hccl_host_ports";
inline constexpr char kFactDevicePorts[] = "hccl_npu_ports";
inline constexpr char kPortsNotSet[] = "not set";

inline constexpr int kMaxHostFacts = 32;
inline constexpr int kMaxHostFindings = 32;
inline constexpr size_t kMaxHostNameOfFact = 64;  // bytes, of a fact's and of a check's name
inline constexpr size_t kMaxHostValue = 1024;     // bytes
inline constexpr size_t kMaxHostText = 512;       // bytes, of a finding's text and of its remedy

inline constexpr int kMaxHostBytes = 24 * 1024;  // of all facts and findings of one node

// Returns the bytes of a node's facts and findings.
int HostBytes(const v1::NodeInfo& node);

// Returns the value of a fact; empty if the node didn't report it.
std::string FactOf(const v1::NodeInfo& node, const std::string& name);

inline constexpr char kScoreCheck[] = "score";  // the check that names slow nodes

struct ComparedHost {
  std::string node_id;
  const v1::NodeInfo* node = nullptr;
};

struct HostDifference {
  v1::HostFinding finding;
  std::vector<std::string> node_ids;  // the nodes that the user should change; may be empty
};

// Returns one finding for each check that applies to at least two of the hosts; same_segments gives one for each device
// that differs. Hosts without facts don't count.
std::vector<HostDifference> CompareHosts(const std::vector<ComparedHost>& hosts);

// Returns "ok", "warning", "error" or "not_checked".
std::string LevelWord(v1::HostFinding::Level level);

// True if a node with --preflight_fatal=`fatal` must not start with this finding.
bool IsFatal(const v1::HostFinding& finding, const std::string& fatal);

}  // namespace muster
