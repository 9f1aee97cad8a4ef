// The facts of a host, as far as the checks before the start (--preflight host) need them. A fact that can't be read is
// absent, and then not checked.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "common/base/number_list.h"
#include "worker_agent/ascend/device_addresses.h"

namespace muster::agent {

enum class AscendKind { kUnknown, kFirst, kA2, kA3 };

// One Ascend device, by hccn.conf and hccn_tool.
struct DeviceFacts {
  std::optional<std::string> address;  // empty: it has none; nullopt: not known
  std::string netmask;
  std::optional<bool> has_tls;
  std::string health;                 // "Success"; empty: not known
  std::optional<bool> has_neighbour;  // LLDP: its switch shows itself
};

struct Space {
  std::string what;  // "the log folder"
  std::string path;
  uint64_t free_bytes = 0;
  uint64_t total_bytes = 0;
};

struct HostFacts {
  // The job's demands on the host.
  uint32_t processes = 1;                 // the number that it is to run
  uint32_t job_processes = 0;             // of the whole job; 0: not known
  std::vector<uint16_t> job_ports;        // the user's own choice, for a process or the agent to listen on
  std::optional<NumberRange> hccl_ports;  // unset: HCCL is not used here
  bool is_in_super_pod = false;
  std::map<uint32_t, std::string> given_addresses;  // of devices, in place of the host's own; empty: none

  // The host.
  int64_t wall_unix_ms = 0;
  std::optional<std::set<uint16_t>> listening;       // TCP, v4 and v6
  std::optional<NumberRange> ephemeral;              // ports that the kernel gives away …
  std::optional<std::vector<NumberRange>> reserved;  // … except these
  std::optional<uint64_t> somaxconn;
  std::optional<uint64_t> syn_backlog;
  std::string nic;  // that the node's address is of; empty: not known
  std::optional<uint64_t> mtu;
  std::vector<Space> spaces;
  std::optional<Space> shared_memory;
  std::optional<uint64_t> free_memory;  // of the machine, or of its container if that has less
  std::optional<uint64_t> open_files;   // hard limits; UINT64_MAX: none
  std::optional<uint64_t> tasks;
  std::optional<uint64_t> locked_memory;
  bool has_rdma = false;

  // Its devices.
  std::string device_kind = "CPU";  // "Ascend", "NVIDIA", "CPU"
  std::vector<uint32_t> devices;    // those that this node's processes get, or all
  std::optional<std::string> driver;
  AscendKind ascend = AscendKind::kUnknown;
  std::vector<std::string> missing_device_files;
  std::map<uint32_t, DeviceFacts> device_facts;  // Ascend
};

struct FactsRequest {
  DeviceSearch search;                                       // the places to look, and the time for hccn_tool
  std::vector<std::pair<std::string, std::string>> folders;  // name and path: the folders for files to be written
  std::string nic;
};

// Reads the host's facts. `facts` has the job's side, and the devices. Blocks for as long as `search` allows.
void ReadHost(const FactsRequest& request, HostFacts& facts);
void ReadDevices(const FactsRequest& request, HostFacts& facts);

}  // namespace muster::agent
