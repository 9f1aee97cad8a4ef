// The checks of devices. A check is left out if the host has no such devices. Checks of addresses and of the network
// are left out if the job has only this node.
//
// check              warning or error (E) if                                                 applies to
//
// driver             never; the scheduler compares its version between nodes                  Ascend, NVIDIA
// device_files       E: /dev/davinci_manager, devmm_svm or hisi_hdc is missing                Ascend
// device_group       E: not 1, 2, 4 or 8 devices; 2 or 4 devices from both 0-3 and 4-7        Ascend 910
// npu_ports          never; it shows HCCL_NPU_SOCKET_PORT_RANGE, and its limit on A2          Ascend, if that is set
// device_addresses   E: a device has no address, and it is not in a super pod                 Ascend
// duplicates         E: two devices have the same address                                     Ascend
// segments           E: a pair 0/4, 1/5, 2/6, 3/7 does not share a network segment, or        Ascend 910
//                    any other two devices share one
//                    devices share segments neither in these pairs nor all together           other Ascend devices
// device_tls         E: switched on for some devices and off for others                       Ascend
// device_health      hccn_tool reports "Init" or similar; E: it reports a fault               Ascend
// switch             a device sees no neighbour (LLDP)                                        Ascend
#include <algorithm>
#include <set>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "common/hosts/segment.h"
#include "worker_agent/preflight/rules.h"

namespace muster::agent {
namespace {

using v1::HostFinding;

constexpr uint32_t kGroup = 4;  // a 910 server links its devices in groups of so many: 0-3 and 4-7

std::string DeviceList(const std::vector<uint32_t>& numbers) {
  return absl::StrCat(numbers.size() == 1 ? "device " : "devices ", absl::StrJoin(numbers, ", "));
}

HostFinding JudgeDriver(const HostFacts& facts) {
  if (facts.driver) return Well("driver", *facts.driver);
  return NotChecked("driver", "the driver's version can't be read");
}

HostFinding JudgeFiles(const HostFacts& facts) {
  if (facts.missing_device_files.empty()) return Well("device_files", "all there");
  return MakeFinding("device_files", HostFinding::ERROR,
                     absl::StrCat("there is no ", absl::StrJoin(facts.missing_device_files, ", "),
                                  ", which a process needs to use a device"),
                     absl::StrCat("start the container with --device=",
                                  absl::StrJoin(facts.missing_device_files, " --device="), ", or install the driver"));
}

HostFinding JudgeGroup(const HostFacts& facts) {
  const size_t count = facts.devices.size();
  if (count != 1 && count != 2 && count != 4 && count != 8) {
    return MakeFinding("device_group", HostFinding::ERROR,
                       absl::StrCat(count, " devices take part, but an Ascend 910 server works with 1, 2, 4 or 8"),
                       "choose them with --devices and --local_worker_num");
  }
  const bool is_first = facts.devices.front() < kGroup;
  const bool crosses = std::any_of(facts.devices.begin(), facts.devices.end(),
                                   [&](uint32_t device) { return (device < kGroup) != is_first; });
  if (count < 8 && crosses) {
    return MakeFinding(
        "device_group", HostFinding::ERROR,
        absl::StrCat(DeviceList(facts.devices), " take part, but they should all be of 0-3 or all of 4-7"),
        absl::StrCat("choose others: --devices ", count == 2 ? "0-1" : "0-3"));
  }
  return Well("device_group", DeviceList(facts.devices));
}

// The host can't see which of these ports are free, since they are on the devices' network.
HostFinding JudgeDevicePorts(const HostFacts& facts, const SocketPorts& ports) {
  std::string text = "differ between the processes (--env)";
  if (ports.choice == PortChoice::kAuto) text = "auto";
  if (ports.choice == PortChoice::kRanges) text = ShowPorts(ports.ranges);
  // This is no warning, since only the script knows which operators it uses, and a warning may end the agent.
  if (facts.ascend == AscendKind::kA2) {
    absl::StrAppend(&text, "; HCCL on A2 does not allow ", kHcclDevicePortsVariable,
                    " with MC2 operators, such as AllGatherMatmul");
  }
  return Well("npu_ports", text);
}

HostFinding JudgeAddresses(const HostFacts& facts) {
  std::vector<uint32_t> missing;
  size_t known = 0;
  for (const auto& [number, device] : facts.device_facts) {
    if (!device.address) continue;
    ++known;
    if (device.address->empty()) missing.push_back(number);
  }
  if (known == missing.size()) {
    return NotChecked("device_addresses", "neither /etc/hccn.conf nor hccn_tool shows the devices' addresses");
  }
  if (missing.empty()) {
    return known == facts.device_facts.size()
               ? Well("device_addresses", "all known")
               : NotChecked("device_addresses", "hccn_tool has not shown the addresses of all devices in time");
  }
  return MakeFinding("device_addresses", HostFinding::ERROR,
                     absl::StrCat(DeviceList(missing), missing.size() == 1 ? " has" : " have",
                                  " no network address, which other servers need to reach them"),
                     absl::StrCat("hccn_tool -i ", missing.front(), " -ip -s address ADDRESS netmask 255.255.255.0"));
}

HostFinding JudgeDuplicates(const HostFacts& facts) {
  std::map<std::string, uint32_t> seen;
  for (const auto& [number, device] : facts.device_facts) {
    if (!device.address || device.address->empty()) continue;
    const auto [first, is_new] = seen.emplace(*device.address, number);
    if (is_new) continue;
    return MakeFinding("duplicates", HostFinding::ERROR,
                       absl::StrCat("devices ", first->second, " and ", number, " both have the address ",
                                    *device.address, ", but each should have its own"),
                       absl::StrCat("hccn_tool -i ", number, " -ip -s address ADDRESS netmask 255.255.255.0"));
  }
  if (seen.empty()) return NotChecked("duplicates", "no address is known");
  return Well("duplicates", "none");
}

// Checks the network segments of a 910 server: the devices of each pair 0/4, 1/5, 2/6 and 3/7 must share one, and no
// other two devices may. Returns a text about the first two devices that break this; empty: none do.
std::string BreaksPairs(const std::map<uint32_t, std::string>& segments) {
  for (const auto& [a, segment_a] : segments) {
    for (const auto& [b, segment_b] : segments) {
      if (a >= b) continue;
      const bool is_pair = a % kGroup == b % kGroup;
      if (is_pair == (segment_a == segment_b)) continue;
      return absl::StrCat("devices ", a, " (", segment_a, ") and ", b, " (", segment_b, ") are in ",
                          is_pair ? "two network segments" : "one network segment");
    }
  }
  return "";
}

HostFinding JudgeSegments(const HostFacts& facts) {
  std::map<uint32_t, std::string> segments;
  std::set<std::string> different;
  for (const auto& [number, device] : facts.device_facts) {
    const std::string segment = SegmentOf(device.address.value_or(""), device.netmask);
    if (segment.empty()) continue;
    segments[number] = segment;
    different.insert(segment);
  }
  if (segments.empty()) return NotChecked("segments", "no address is known");
  const bool may_be_one = facts.ascend != AscendKind::kFirst;
  const std::string broken = BreaksPairs(segments);
  if (broken.empty() || (may_be_one && different.size() == 1)) {
    return Well("segments", absl::StrJoin(different, " "));
  }
  if (facts.ascend == AscendKind::kA2 || facts.ascend == AscendKind::kA3) {
    return MakeFinding("segments", HostFinding::WARNING, absl::StrCat(broken, ", but all should be in one"),
                       "hccn_tool -i N -ip -s address ADDRESS netmask MASK");
  }
  return MakeFinding(
      "segments", may_be_one ? HostFinding::WARNING : HostFinding::ERROR,
      absl::StrCat(broken, "; the pairs 0/4, 1/5, 2/6 and 3/7 should each share one, and no other devices",
                   may_be_one ? " (or all be in one, on A2 and A3)" : ""),
      "hccn_tool -i N -ip -s address ADDRESS netmask MASK");
}

HostFinding JudgeTls(const HostFacts& facts) {
  std::vector<uint32_t> on, off;
  for (const auto& [number, device] : facts.device_facts) {
    if (device.has_tls) (*device.has_tls ? on : off).push_back(number);
  }
  if (on.empty() && off.empty()) return NotChecked("device_tls", "hccn_tool does not show the devices' TLS switches");
  if (on.empty() || off.empty()) return Well("device_tls", on.empty() ? "off" : "on");
  return MakeFinding("device_tls", HostFinding::ERROR,
                     absl::StrCat("TLS is on for ", DeviceList(on), " and off for ", DeviceList(off),
                                  ", but should be the same for all"),
                     absl::StrCat("hccn_tool -i ", on.front(), " -tls -s enable 0 (or 1 on all)"));
}

HostFinding JudgeHealth(const HostFacts& facts) {
  const std::set<std::string> transient = {"Init", "Detect ip set"};
  HostFinding worst = NotChecked("device_health", "hccn_tool does not show the state of the devices' network");
  for (const auto& [number, device] : facts.device_facts) {
    if (device.health.empty() || device.health == "Unknown") continue;
    HostFinding finding = Well("device_health", "Success");
    if (device.health != "Success") {
      finding = MakeFinding(
          "device_health", transient.contains(device.health) ? HostFinding::WARNING : HostFinding::ERROR,
          absl::StrCat("the network of device ", number, " says ", device.health, ", but should say Success"),
          absl::StrCat("check cable, switch and hccn_tool -i ", number, " -netdetect -g, then hccn_tool -i ", number,
                       " -net_health -g"));
    }
    if (finding.level() > worst.level()) worst = std::move(finding);
  }
  return worst;
}

HostFinding JudgeSwitch(const HostFacts& facts) {
  std::vector<uint32_t> alone;
  bool is_known = false;
  for (const auto& [number, device] : facts.device_facts) {
    is_known = is_known || device.has_neighbour.has_value();
    if (device.has_neighbour && !*device.has_neighbour) alone.push_back(number);
  }
  if (!is_known) return NotChecked("switch", "hccn_tool does not show the devices' neighbours");
  if (alone.empty()) return Well("switch", "seen by all devices");
  return MakeFinding("switch", HostFinding::WARNING,
                     absl::StrCat(DeviceList(alone), alone.size() == 1 ? " sees" : " see",
                                  " no neighbour (LLDP), but should see a switch"),
                     absl::StrCat("check cable and switch, then hccn_tool -i ", alone.front(), " -lldp -g"));
}

}  // namespace

std::vector<HostFinding> JudgeDevices(const HostFacts& facts) {
  std::vector<HostFinding> findings;
  if (facts.device_kind == "CPU") return findings;
  findings.push_back(JudgeDriver(facts));
  if (facts.device_kind != "Ascend") return findings;
  findings.push_back(JudgeFiles(facts));
  if (facts.ascend == AscendKind::kFirst && !facts.devices.empty()) findings.push_back(JudgeGroup(facts));
  if (facts.hccl_ports && facts.hccl_ports->device.choice != PortChoice::kNotSet) {
    findings.push_back(JudgeDevicePorts(facts, facts.hccl_ports->device));
  }
  const bool is_alone = facts.job_processes != 0 && facts.job_processes <= facts.processes;
  if (is_alone || facts.device_facts.empty()) return findings;
  if (!facts.is_in_super_pod) findings.push_back(JudgeAddresses(facts));
  findings.push_back(JudgeDuplicates(facts));
  findings.push_back(JudgeSegments(facts));
  findings.push_back(JudgeTls(facts));
  findings.push_back(JudgeHealth(facts));
  findings.push_back(JudgeSwitch(facts));
  return findings;
}

}  // namespace muster::agent
