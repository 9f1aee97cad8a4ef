#include "worker_agent/preflight/preflight.h"

#include <filesystem>
#include <set>
#include <system_error>
#include <utility>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "common/base/text.h"
#include "common/hosts/compare.h"
#include "common/hosts/segment.h"
#include "common/net/ip_address.h"
#include "common/sys/log.h"
#include "worker_agent/ascend/chief.h"
#include "worker_agent/machine/machine.h"
#include "worker_agent/preflight/facts.h"
#include "worker_agent/preflight/rules.h"

namespace muster::agent {
namespace {

std::string InterfaceOf(const std::string& address) {
  const auto wanted = IpAddress::Parse(address);
  if (!wanted) return "";
  for (const InterfaceAddress& one : InterfaceAddresses()) {
    if (one.address == *wanted) return one.name.substr(0, one.name.find(':'));
  }
  return "";
}

std::string KindText(const HostFacts& facts) {
  switch (facts.ascend) {
    case AscendKind::kFirst:
      return "Ascend 910";
    case AscendKind::kA2:
      return "Ascend A2";
    case AscendKind::kA3:
      return "Ascend A3";
    case AscendKind::kUnknown:
      break;
  }
  return facts.device_kind;
}

void AddFact(v1::NodeInfo& node, const char* name, const std::string& value) {
  const bool has_room = HostBytes(node) + static_cast<int>(value.size() + kMaxHostNameOfFact) <= kMaxHostBytes;
  if (value.empty() || value.size() > kMaxHostValue || node.host_facts_size() >= kMaxHostFacts || !has_room) return;
  v1::HostFact& fact = *node.add_host_facts();
  fact.set_name(name);
  fact.set_value(EscapeControl(value));
}

void AddFinding(v1::NodeInfo& node, v1::HostFinding finding) {
  const bool has_room = HostBytes(node) + static_cast<int>(finding.ByteSizeLong()) <= kMaxHostBytes;
  if (has_room && node.host_findings_size() < kMaxHostFindings) *node.add_host_findings() = std::move(finding);
}

void AddItem(std::string& list, uint32_t device, const std::string& value) {
  if (value.empty()) return;
  const std::string item = absl::StrCat(list.empty() ? "" : ",", device, "=", value);
  if (list.size() + item.size() <= kMaxHostValue) list += item;
}

// Returns the value's kind only, since HCCL lets ranges differ between nodes.
std::string KindOf(const SocketPorts& ports) {
  switch (ports.choice) {
    case PortChoice::kNotSet:
      return kPortsNotSet;
    case PortChoice::kAuto:
      return "auto";
    case PortChoice::kRanges:
    case PortChoice::kPerProcess:
      break;
  }
  return "a range";
}

void AddFacts(const HostFacts& facts, const AgentSettings& settings, v1::NodeInfo& node) {
  std::string addresses, segments;
  std::set<bool> tls;
  for (const auto& [number, device] : facts.device_facts) {
    AddItem(addresses, number, device.address.value_or(""));
    AddItem(segments, number, SegmentOf(device.address.value_or(""), device.netmask));
    if (device.has_tls) tls.insert(*device.has_tls);
  }
  AddFact(node, kFactKind, KindText(facts));
  AddFact(node, kFactDevices, facts.device_kind == "CPU" ? "" : absl::StrCat(facts.processes));
  AddFact(node, kFactDriver, facts.driver.value_or(""));
  AddFact(node, kFactNic, facts.nic);
  AddFact(node, kFactMtu, facts.mtu ? absl::StrCat(*facts.mtu) : "");
  AddFact(node, kFactTls, tls.size() != 1 ? "" : *tls.begin() ? "on" : "off");
  AddFact(node, kFactAddresses, addresses);
  AddFact(node, kFactSegments, segments);
  // With a rank table HCCL does not use these variables.
  const bool has_table = settings.hccl_mode == "table" || !settings.rank_table_file.empty();
  if (facts.hccl_ports && !has_table) {
    AddFact(node, kFactHostPorts, KindOf(facts.hccl_ports->host));
    AddFact(node, kFactDevicePorts, KindOf(facts.hccl_ports->device));
  }
  AddFact(node, kFactClock, absl::StrCat(facts.wall_unix_ms));  // the session replaces it by each join's time
  AddFact(node, kFactFatal, settings.preflight_fatal);
}

HostFacts WhatIsAsked(const AgentSettings& settings, const std::map<std::string, std::string>& environment,
                      const NodeDevices& devices, const v1::NodeInfo& node) {
  HostFacts facts;
  facts.processes = static_cast<uint32_t>(node.slots_size());
  facts.job_processes = settings.worker_num.value_or(0) + settings.server_num.value_or(0);
  facts.is_in_super_pod = !settings.super_pod.empty();
  // Ports that a launcher or script opens by itself are not known here.
  if (node.wanted_master_port() != 0) facts.job_ports.push_back(static_cast<uint16_t>(node.wanted_master_port()));
  if (settings.hccl_mode == "chief") facts.job_ports.push_back(settings.chief_port);
  const Devices found = FindDevices(devices.roots.dev, environment);
  const bool uses_devices = settings.devices != "none" && settings.role == "MS_WORKER";
  facts.device_kind = uses_devices ? found.kind : "CPU";
  if (uses_devices) {
    facts.devices = DevicesInUse(devices.choice, found, facts.processes, settings.per_node || settings.per_job);
  }
  for (const v1::SlotOffer& slot : node.slots()) {
    uint32_t number = 0;
    if (absl::SimpleAtoi(slot.device_id(), &number)) facts.given_addresses[number] = slot.device_address();
  }
  if (facts.device_kind == "Ascend" || !settings.hccl_mode.empty() || !settings.rank_table_file.empty()) {
    facts.hccl_ports = HcclPortsOf(settings, environment);
  }
  return facts;
}

FactsRequest WhereToLook(const AgentSettings& settings, const std::map<std::string, std::string>& environment,
                         const NodeDevices& devices, const std::string& own_address) {
  FactsRequest request;
  request.search.roots = devices.roots;
  if (const auto found = environment.find("PATH"); found != environment.end()) {
    request.search.search_path = found->second;
  }
  std::error_code ignored;
  if (!settings.log_dir.empty()) request.folders.emplace_back("the log folder", settings.log_dir);
  request.folders.emplace_back("the folder for temporary files",
                               std::filesystem::temp_directory_path(ignored).string());
  request.nic = InterfaceOf(own_address);
  return request;
}

struct Judged {
  HostFacts facts;
  std::vector<v1::HostFinding> findings;
};

Judged JudgeThisHost(const AgentSettings& settings, const std::map<std::string, std::string>& environment,
                     const NodeDevices& devices, const std::string& own_address, const v1::NodeInfo& node) {
  Judged judged{WhatIsAsked(settings, environment, devices, node), {}};
  const FactsRequest request = WhereToLook(settings, environment, devices, own_address);
  ReadHost(request, judged.facts);
  ReadDevices(request, judged.facts);
  judged.findings = JudgeHost(judged.facts);
  for (v1::HostFinding& finding : JudgeDevices(judged.facts)) judged.findings.push_back(std::move(finding));
  return judged;
}

}  // namespace

std::vector<v1::HostFinding> FindingsOfHost(const AgentSettings& settings,
                                            const std::map<std::string, std::string>& environment,
                                            const NodeDevices& devices, const std::string& own_address,
                                            const v1::NodeInfo& node) {
  return JudgeThisHost(settings, environment, devices, own_address, node).findings;
}

absl::Status CheckHost(const AgentSettings& settings, const std::map<std::string, std::string>& environment,
                       const NodeDevices& devices, const std::string& own_address, v1::NodeInfo& node) {
  if (!ChecksHost(settings)) return absl::OkStatus();
  auto [facts, findings] = JudgeThisHost(settings, environment, devices, own_address, node);
  size_t fatal = 0;
  for (const v1::HostFinding& finding : findings) {
    fatal += IsFatal(finding, settings.preflight_fatal) ? 1 : 0;
    if (finding.level() < v1::HostFinding::WARNING) continue;
    Log(finding.level() == v1::HostFinding::ERROR ? Severity::kError : Severity::kWarning,
        absl::StrCat("preflight: ", finding.check(), ": ", finding.text(), "; ", finding.remedy()));
  }
  AddFacts(facts, settings, node);
  for (v1::HostFinding& finding : findings) AddFinding(node, std::move(finding));
  if (fatal == 0) return absl::OkStatus();
  return absl::FailedPreconditionError(
      absl::StrCat("this host is not fit for the job: ", fatal, fatal == 1 ? " check has" : " checks have",
                   " failed, see above; fix what they report, or start without --preflight host",
                   settings.preflight_fatal == "warning" ? ", or with --preflight_fatal error" : ""));
}

void AddNodeCheck(const NodeCheckResult& result, const AgentSettings& settings, v1::NodeInfo& node) {
  AddFact(node, kFactNodeCheck, "on");
  if (result.score) {
    AddFact(node, kFactScore, absl::StrCat(*result.score));
    AddFact(node, kFactStragglerRatio, absl::StrCat(settings.straggler_ratio));
    if (settings.excludes_stragglers) AddFact(node, kFactStragglers, kExcluded);
  }
  AddFinding(node, Well("command", result.last_line.empty() ? "ended with 0" : result.last_line));
}

}  // namespace muster::agent
