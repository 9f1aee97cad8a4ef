// Hosts as documents of Ascend and NVIDIA describe them: as files in a folder, and as the facts that the checks read.
#pragma once

#include <sys/stat.h>

#include <filesystem>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "tests/unit/launch/temporary_folder.h"
#include "worker_agent/preflight/facts.h"
#include "worker_agent/preflight/rules.h"

namespace muster::agent {

enum class Server { kAscend910, kAscend910Half, kA2, kA3SuperPod, kNvidia, kCpu };

inline bool IsAscend(Server server) { return server != Server::kNvidia && server != Server::kCpu; }

class SampleHost {
 public:
  explicit SampleHost(Server server) : server_(server) {
    Write("proc/net/tcp",
          "  sl  local_address rem_address   st tx_queue\n   0: 00000000:0016 00000000:0000 0A 00000000:00000000\n");
    Write("proc/net/tcp6", "  sl  local_address rem_address   st\n");
    Write("proc/sys/net/ipv4/ip_local_port_range", "32768\t60999\n");
    Write("proc/sys/net/ipv4/ip_local_reserved_ports", "60000-60015\n");
    Write("proc/sys/net/ipv4/tcp_max_syn_backlog", "4096\n");
    Write("proc/sys/net/core/somaxconn", "4096\n");
    Write("proc/meminfo", "MemTotal:       65536000 kB\nMemAvailable:   60000000 kB\n");
    Write("sys/class/net/eth0/mtu", "1500\n");
    Write("dev/shm/.keep", "");
    if (server == Server::kNvidia) {
      Write("proc/driver/nvidia/version",
            "NVRM version: NVIDIA UNIX x86_64 Kernel Module  535.104.05  Sat Aug 19 01:15:15 UTC 2023\nGCC version: "
            "12\n");
    }
    if (IsAscend(server)) WriteAscend();
  }

  void Write(const std::string& name, const std::string& text) { folder_.Write(name, text); }
  void Remove(const std::string& name) { std::filesystem::remove_all(folder_.path() + "/" + name); }
  // Sets the output of hccn_tool -i `device` `what` -g. Without such a text the tool fails.
  void Say(uint32_t device, const std::string& what, const std::string& text) {
    Write(absl::StrCat("bin/", device, what), text);
  }

  HostFacts Read() const {
    HostFacts facts;
    facts.processes = IsAscend(server_) ? static_cast<uint32_t>(Devices().size()) : 2;
    facts.job_processes = 2 * facts.processes;
    facts.job_ports = {29500};
    facts.is_in_super_pod = server_ == Server::kA3SuperPod;
    facts.device_kind = IsAscend(server_) ? "Ascend" : server_ == Server::kNvidia ? "NVIDIA" : "CPU";
    if (IsAscend(server_)) facts.hccl_ports = HcclPorts{};
    facts.devices = server_ == Server::kCpu ? std::vector<uint32_t>() : Devices();
    FactsRequest request;
    request.nic = "eth0";
    const std::string& root = folder_.path();
    request.search.roots = {root + "/etc",  root + "/dev", root + "/sys",
                            root + "/proc", root + "/bin", root + "/driver"};
    request.search.search_path = "/usr/bin:/bin";
    request.folders = {{"the log folder", root}};
    ReadHost(request, facts);
    ReadDevices(request, facts);
    // These would be facts of the machine that runs the test.
    facts.open_files = facts.tasks = facts.locked_memory = UINT64_MAX;
    facts.spaces = {{"the log folder", "/logs", uint64_t{1} << 40, uint64_t{1} << 41}};
    facts.shared_memory = Space{"/dev/shm", "/dev/shm", uint64_t{1} << 33, uint64_t{1} << 33};
    return facts;
  }

  static std::vector<v1::HostFinding> Judge(const HostFacts& facts) {
    std::vector<v1::HostFinding> findings = JudgeHost(facts);
    for (const v1::HostFinding& finding : JudgeDevices(facts)) findings.push_back(finding);
    return findings;
  }

 private:
  std::vector<uint32_t> Devices() const {
    if (server_ == Server::kAscend910Half) return {4, 5, 6, 7};
    return {0, 1, 2, 3, 4, 5, 6, 7};
  }

  void WriteAscend() {
    const bool is_first = server_ == Server::kAscend910 || server_ == Server::kAscend910Half;
    Write("sys/bus/pci/devices/0000:00:1f.0/vendor", "0x8086\n");
    Write("sys/bus/pci/devices/0000:61:00.0/vendor", "0x19e5\n");
    Write("sys/bus/pci/devices/0000:61:00.0/device", is_first                 ? "0xd801\n"
                                                     : server_ == Server::kA2 ? "0xd802\n"
                                                                              : "0xd803\n");
    Write("driver/version.info", "Version=23.0.3\nascendhal_version=7.35.19\n");
    for (const char* name : {"davinci_manager", "devmm_svm", "hisi_hdc"}) Write(absl::StrCat("dev/", name), "");
    std::string conf;
    for (const uint32_t device : Devices()) {
      absl::StrAppend(&conf, "address_", device, "=192.168.", is_first ? 100 + device % 4 : 100, ".", 101 + device,
                      "\nnetmask_", device, "=255.255.255.0\n");
      Say(device, "-tls",
          absl::StrCat("dev_id:", device, ", tls switch[0](0:disable, 1:enable), tls alarm time[60]\n"));
      Say(device, "-net_health", "net health status: Success\n");
      Say(device, "-lldp", "Chassis ID TLV\n");
    }
    if (server_ == Server::kA2) {  // the tool prints its addresses
      for (const uint32_t device : Devices()) {
        Say(device, "-ip", absl::StrCat("ipaddr:10.0.0.", 11 + device, "\nnetmask:255.255.0.0\n"));
      }
    } else {
      Write("etc/hccn.conf", conf);
    }
    Write("bin/hccn_tool", "#!/bin/sh\nexec cat \"${0%/*}/$2$3\"\n");
    chmod((folder_.path() + "/bin/hccn_tool").c_str(), 0755);
  }

  const Server server_;
  TemporaryFolder folder_;
};

}  // namespace muster::agent
