// CheckSameHcclMode refuses a round with these pairs of workers; the first row that fits applies:
//
//   | one has reported         | another has reported     | refused by agents with     |
//   |--------------------------|--------------------------|----------------------------|
//   | a chief's port (chief)   | none (table, or no mode) | --hccl_mode chief or table |
//   | a device's address       | no device (no mode)      | --hccl_mode table          |
//
// An agent without --hccl_mode does not check this. The agents that do check refuse, and that ends the job.
#include "worker_agent/ascend/chief.h"

#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <sstream>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "common/base/number_list.h"
#include "common/base/text.h"
#include "common/net/ip_address.h"
#include "common/net/peer_node.h"
#include "common/settings/values.h"
#include "common/sys/file_io.h"

namespace muster::agent {
namespace {

constexpr uint32_t kLowestBasePort = 1024;
constexpr uint32_t kHighestBasePort = 65520;

// Returns the variable's value from --env, else the inherited one; empty: not set.
std::string ValueOf(const AgentSettings& settings, const std::map<std::string, std::string>& environment,
                    const std::string& name) {
  const auto given = settings.env.find(name);
  if (given != settings.env.end()) return given->second;
  const auto inherited = environment.find(name);
  return inherited == environment.end() ? "" : inherited->second;
}

bool IsInUse(const AgentSettings& settings) { return !settings.hccl_mode.empty() || !settings.rank_table_file.empty(); }

// True if another socket listens on the port, or is bound to it without SO_REUSEADDR. A closed connection that is still
// in TIME_WAIT does not count.
bool IsTaken(uint32_t port) {
  const int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (fd < 0) return false;
  const int one = 1;
  setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one));
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(static_cast<uint16_t>(port));
  const bool is_taken = bind(fd, reinterpret_cast<sockaddr*>(&address), sizeof(address)) != 0 && errno == EADDRINUSE;
  close(fd);
  return is_taken;
}

std::string FirstWords(const HostRoots& roots, const char* name) {
  const auto text = ReadSmallFile(roots.proc + "/sys/net/ipv4/" + name, 64 * 1024);
  return text.ok() ? std::string(absl::StripAsciiWhitespace(*text)) : "";
}

// True if the kernel may give one of `ports` to an outgoing connection. False also if /proc does not show the ranges.
bool MayBeGivenAway(const HostRoots& roots, NumberRange ports) {
  std::istringstream range(FirstWords(roots, "ip_local_port_range"));
  NumberRange kernel;
  if (!(range >> kernel.low >> kernel.high) || kernel.high < ports.low || kernel.low > ports.high) return false;
  const std::string list = FirstWords(roots, "ip_local_reserved_ports");
  const auto reserved = ParseNumberRanges(list, 65535);
  for (uint32_t port = std::max(ports.low, kernel.low); port <= std::min(ports.high, kernel.high); ++port) {
    bool is_reserved = false;
    if (!list.empty() && reserved.ok()) {
      for (const NumberRange& one : *reserved) is_reserved = is_reserved || one.contains(port);
    }
    if (!is_reserved) return true;
  }
  return false;
}

absl::Status TwoMinds(const v1::PeerNode& one, const std::string& mode, const v1::PeerNode& other) {
  return absl::FailedPreconditionError(absl::StrCat("node ", one.node_id(), " was started with --hccl_mode ", mode,
                                                    ", node ", other.node_id(),
                                                    " was not: give all nodes the same --hccl_mode"));
}

// Refuses two nodes that use the same device of a machine: HCCL would wait for ever for the device that is missing.
absl::Status CheckDevicesOnce(const v1::PeerList& peers) {
  std::map<std::pair<uint32_t, std::string>, std::string> owner;  // machine and device → node
  for (const v1::PeerNode& peer : peers.nodes()) {
    for (int slot = 0; peer.role() == v1::ROLE_WORKER && slot < SlotCount(peer); ++slot) {
      const std::string device = DeviceIdOf(peer, slot);
      if (device.empty()) continue;
      const auto [other, is_new] = owner.emplace(std::pair(peer.machine(), device), peer.node_id());
      if (is_new) continue;
      return absl::FailedPreconditionError(
          absl::StrCat("nodes ", other->second, " and ", peer.node_id(), " share a machine, and both have its device ",
                       device, ": start each agent of that machine with devices of its own, as in --devices 4-7"));
    }
  }
  return absl::OkStatus();
}

}  // namespace

absl::Status CheckSameHcclMode(const std::string& mode, const v1::PeerList& peers) {
  const v1::PeerNode* chief = nullptr;  // each of these: the first worker of that kind
  const v1::PeerNode* not_chief = nullptr;
  const v1::PeerNode* table = nullptr;
  const v1::PeerNode* silent = nullptr;
  const auto note = [](const v1::PeerNode*& first, const v1::PeerNode& peer) {
    if (first == nullptr) first = &peer;
  };
  for (const v1::PeerNode& peer : peers.nodes()) {
    if (peer.role() != v1::ROLE_WORKER) continue;
    const auto& addresses = peer.device_addresses();
    const bool has_address =
        std::any_of(addresses.begin(), addresses.end(), [](const std::string& text) { return !text.empty(); });
    note(peer.chief_port() != 0 ? chief : not_chief, peer);
    if (has_address) note(table, peer);
    if (peer.device_ids().empty()) note(silent, peer);
  }
  if (chief != nullptr && not_chief != nullptr) return TwoMinds(*chief, "chief", *not_chief);
  if (mode == "table" && table != nullptr && silent != nullptr) return TwoMinds(*table, "table", *silent);
  return absl::OkStatus();
}

absl::StatusOr<HcclChief> ChiefOf(const v1::PeerList& peers) {
  if (absl::Status once = CheckDevicesOnce(peers); !once.ok()) return once;
  for (const v1::PeerNode& peer : peers.nodes()) {
    for (int slot = 0; peer.role() == v1::ROLE_WORKER && slot < SlotCount(peer); ++slot) {
      if (RankOf(peer, slot) != 0) continue;
      const auto address = IpAddress::FromBytes(peer.address());
      if (!address || peer.chief_port() == 0 || DeviceIdOf(peer, slot).empty()) {
        return absl::FailedPreconditionError(absl::StrCat(
            "HCCL has no chief: node ", peer.node_id(),
            ", which has rank 0, has not reported its port and device; start all nodes with --hccl_mode chief"));
      }
      return HcclChief{address->ToString(), peer.chief_port(), DeviceIdOf(peer, slot)};
    }
  }
  return absl::FailedPreconditionError("HCCL has no chief: the peer list has no rank 0");
}

SettingsFindings CheckHcclVariables(const AgentSettings& settings,
                                    const std::map<std::string, std::string>& environment) {
  SettingsFindings findings;
  // A framework may use HCCL without --hccl_mode, and such a value ends it (EI0001).
  for (const char* variable : {kHcclHostPortsVariable, kHcclDevicePortsVariable}) {
    const auto ports = FindSocketPorts(variable, settings.env, environment);
    if (!ports.ok()) findings.errors.emplace_back(ports.status().message());
  }
  if (!IsInUse(settings)) return findings;
  const auto value = [&](const char* name) { return ValueOf(settings, environment, name); };
  const auto warn = [&](const char* name, const std::string& rule) {
    findings.warnings.push_back(
        absl::StrCat(name, " is ", Quoted(value(name)), ", but HCCL takes ", rule, "; correct it or leave it out"));
  };
  const auto check_number = [&](const char* name, int64_t low, int64_t high, const std::string& unit) {
    if (value(name).empty() || ParseWholeNumber(value(name), low, high).ok()) return;
    warn(name, absl::StrCat("a whole number from ", low, " to ", high, unit));
  };
  check_number("HCCL_IF_BASE_PORT", kLowestBasePort, kHighestBasePort, "");
  check_number("HCCL_CONNECT_TIMEOUT", 120, 7200, " (seconds)");
  check_number("HCCL_WHITELIST_DISABLE", 0, 1, "");
  if (value("HCCL_WHITELIST_DISABLE") == "0" && value("HCCL_WHITELIST_FILE").empty()) {
    findings.warnings.emplace_back(
        "HCCL_WHITELIST_DISABLE is 0, but HCCL_WHITELIST_FILE is not set; set HCCL_WHITELIST_FILE, or "
        "HCCL_WHITELIST_DISABLE to 1");
  }
  if (const std::string address = value("HCCL_IF_IP"); !address.empty() && !IpAddress::Parse(address)) {
    warn("HCCL_IF_IP", "this host's numeric address");
  }
  const std::string family = value("HCCL_SOCKET_FAMILY");
  if (!family.empty() && family != "AF_INET" && family != "AF_INET6") warn("HCCL_SOCKET_FAMILY", "AF_INET or AF_INET6");
  return findings;
}

uint32_t HcclBasePort(const AgentSettings& settings, const std::map<std::string, std::string>& environment) {
  const auto port =
      ParseWholeNumber(ValueOf(settings, environment, "HCCL_IF_BASE_PORT"), kLowestBasePort, kHighestBasePort);
  return port.ok() ? static_cast<uint32_t>(*port) : kHcclBasePort;
}

HcclPorts HcclPortsOf(const AgentSettings& settings, const std::map<std::string, std::string>& environment) {
  HcclPorts ports;
  ports.host = FindSocketPorts(kHcclHostPortsVariable, settings.env, environment).value_or(SocketPorts());
  ports.device = FindSocketPorts(kHcclDevicePortsVariable, settings.env, environment).value_or(SocketPorts());
  ports.base_port = HcclBasePort(settings, environment);
  return ports;
}

std::vector<std::string> CheckHcclPorts(const AgentSettings& settings, const HostRoots& roots, const HcclPorts& ports) {
  std::vector<std::string> warnings;
  if (!IsInUse(settings)) return warnings;
  const std::vector<NumberRange> ranges = ports.HostRanges();
  const std::string shown = ShowPorts(ranges);
  const uint32_t chief = settings.chief_port;
  bool has_own_port = settings.hccl_mode == "chief";
  bool may_be_given_away = false;
  std::vector<std::string> taken;
  for (const NumberRange& range : ranges) {
    for (uint32_t port = range.low; port <= range.high; ++port) {
      if (IsTaken(port)) taken.push_back(absl::StrCat(port));
    }
    has_own_port = has_own_port && !range.contains(chief);
    may_be_given_away = may_be_given_away || MayBeGivenAway(roots, range);
  }
  if (has_own_port && IsTaken(chief)) taken.push_back(absl::StrCat(chief));
  if (!taken.empty()) {
    warnings.push_back(absl::StrCat(
        "in use on this host: HCCL's port", taken.size() == 1 ? " " : "s ", absl::StrJoin(taken, ", "),
        "; end what listens there (ss -ltnp), or set ", ports.HostVariable(),
        settings.hccl_mode == "chief" ? " and --chief_port (CM_CHIEF_PORT)" : "", " to other ports on all nodes"));
  }
  if (may_be_given_away) {
    warnings.push_back(absl::StrCat(
        "HCCL's ports ", shown, " (", ports.HostVariable(),
        ") are not reserved, so any connection may get one; reserve them: sysctl -w net.ipv4.ip_local_reserved_ports=",
        shown, " (plus the ports that are reserved now)"));
  }
  if (has_own_port && MayBeGivenAway(roots, {chief, chief})) {
    warnings.push_back(absl::StrCat("the chief's port ", chief,
                                    " (--chief_port) is not reserved: add it to net.ipv4.ip_local_reserved_ports"));
  }
  return warnings;
}

}  // namespace muster::agent
