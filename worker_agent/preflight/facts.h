// The facts about a host that the checks before the start (--preflight host) need. A fact that can't be read is nullopt
// or empty, and its check is skipped.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "common/base/number_list.h"
#include "worker_agent/ascend/device_addresses.h"
#include "worker_agent/launch/hccl_ports.h"

namespace muster::agent {

enum class AscendKind { kUnknown, kFirst, kA2, kA3 };

// The facts about one Ascend device, from hccn.conf and hccn_tool.
struct DeviceFacts {
  std::optional<std::string> address;  // empty: the device has none; nullopt: not known
  std::string netmask;
  std::optional<bool> has_tls;
  std::string health;                 // "Success"; empty: not known
  std::optional<bool> has_neighbour;  // it sees its switch by LLDP
};

// The space in a folder's file system.
struct Space {
  std::string what;  // "the log folder"
  std::string path;
  uint64_t free_bytes = 0;
  uint64_t total_bytes = 0;
};

struct HostFacts {
  // The job's demands on the host.
  uint32_t processes = 1;               // the number of processes on this host
  uint32_t job_processes = 0;           // the number of processes in the whole job; 0: not known
  std::vector<uint16_t> job_ports;      // ports that the user has chosen, for a process or the agent to listen on
  std::optional<HcclPorts> hccl_ports;  // nullopt: HCCL is not used here
  bool is_in_super_pod = false;
  std::map<uint32_t, std::string> given_addresses;  // device addresses that the user gave, by device

  // The host.
  int64_t wall_unix_ms = 0;
  std::optional<std::set<uint16_t>> listening;       // TCP ports in use by a listener, IPv4 and IPv6
  std::optional<NumberRange> ephemeral;              // ports that the kernel gives to outgoing connections
  std::optional<std::vector<NumberRange>> reserved;  // ports in or outside of `ephemeral` that it gives to none
  std::optional<uint64_t> somaxconn;
  std::optional<uint64_t> syn_backlog;
  std::string nic;  // the network interface with the node's address; empty: not known
  std::optional<uint64_t> mtu;
  std::vector<Space> spaces;
  std::optional<Space> shared_memory;
  std::optional<uint64_t> free_memory;  // of the machine, or of its container if that has less
  std::optional<uint64_t> open_files;   // this and the next two: hard limits; UINT64_MAX: no limit
  std::optional<uint64_t> tasks;
  std::optional<uint64_t> locked_memory;
  bool has_rdma = false;

  // Its devices.
  std::string device_kind = "CPU";  // "Ascend", "NVIDIA", "CPU"
  std::vector<uint32_t> devices;    // those that this node's processes get; if that is not known, all
  std::optional<std::string> driver;
  AscendKind ascend = AscendKind::kUnknown;
  std::vector<std::string> missing_device_files;
  std::map<uint32_t, DeviceFacts> device_facts;  // Ascend
};

struct FactsRequest {
  DeviceSearch search;                                       // where to look, and the time limit for hccn_tool
  std::vector<std::pair<std::string, std::string>> folders;  // name and path of folders to which the job writes
  std::string nic;
};

// Fill in the facts about the host and about its devices. The job's demands and `devices` must be set before.
// ReadDevices may call hccn_tool, and blocks for at most the time that `search` allows.
void ReadHost(const FactsRequest& request, HostFacts& facts);
void ReadDevices(const FactsRequest& request, HostFacts& facts);

}  // namespace muster::agent
