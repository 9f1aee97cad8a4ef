// check              warning or error (E) if                                          which nodes are compared
//
// same_kind          the generations of devices differ                                all
// same_driver        their drivers' versions differ                                   nodes with devices
// same_mtu           the MTUs of the nodes' interfaces differ                         all
// same_nic           the names of the nodes' interfaces differ                        Ascend
// same_tls           E: the devices' TLS switches differ                              Ascend
// same_devices       machines have different numbers of devices in the job            Ascend
// unique_addresses   E: devices of two machines have the same address                 Ascend
// same_segments      E: device N of two machines is in two network segments           Ascend 910
// same_host_ports    HCCL_HOST_SOCKET_PORT_RANGE is set on some nodes only, or is     HCCL
//                    auto on some and a range on others
// same_npu_ports     E: HCCL_NPU_SOCKET_PORT_RANGE is set on some nodes only; a       HCCL
//                    warning if it is auto on some nodes and a range on others
// servers            more machines than allowed: 512, or 1,152 for A2 and A3          Ascend 910, A2 and A3
// clocks             a clock is over 30 s away from the median of all clocks          all
// score              a score is over --straggler_ratio times the median of all        nodes with a score
//
// Where values differ, the finding names the nodes that do not have the most common value. If two values are equally
// common, the first node's value counts as the most common one.
#include "common/hosts/compare.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "common/base/text.h"

namespace muster {
namespace {

using v1::HostFinding;

constexpr size_t kMaxNamed = 4;
constexpr int64_t kMaxClockMs = 30'000;

using Values = std::vector<std::pair<std::string, std::string>>;  // node id and value

std::string Cut(std::string text) {
  CutText(text, kMaxHostText);
  return text;
}

HostDifference Difference(const std::string& check, HostFinding::Level level, const std::string& text,
                          const std::string& remedy = "", std::vector<std::string> node_ids = {}) {
  HostDifference difference;
  difference.finding.set_check(check);
  difference.finding.set_level(level);
  difference.finding.set_text(Cut(text));
  difference.finding.set_remedy(Cut(remedy));
  difference.node_ids = std::move(node_ids);
  return difference;
}

std::string Named(const std::vector<std::string>& ids) {
  std::string text =
      absl::StrJoin(ids.begin(), ids.begin() + static_cast<ptrdiff_t>(std::min(ids.size(), kMaxNamed)), ", ");
  if (ids.size() > kMaxNamed) absl::StrAppend(&text, " and ", ids.size() - kMaxNamed, " others");
  return text;
}

struct Equality {
  const char* check;
  HostFinding::Level level;
  const char* what;
  const char* remedy;
};

// Compares values that must be equal on all nodes. Adds nothing to `out` if there are fewer than two values.
void Equal(const Equality& rule, const Values& values, std::vector<HostDifference>& out) {
  if (values.size() < 2) return;
  std::map<std::string, std::vector<std::string>> by_value;
  for (const auto& [id, value] : values) by_value[value].push_back(id);
  const std::string* usual = &values.front().second;
  for (const auto& [value, ids] : by_value) {
    if (ids.size() > by_value[*usual].size()) usual = &value;
  }
  if (by_value.size() == 1) return out.push_back(Difference(rule.check, HostFinding::OK, *usual));
  std::vector<std::string> odd;
  std::vector<std::string> parts;
  for (const auto& [value, ids] : by_value) {
    if (value == *usual) continue;
    odd.insert(odd.end(), ids.begin(), ids.end());
    if (parts.size() < kMaxNamed) parts.push_back(absl::StrCat(value, " on ", Named(ids)));
  }
  out.push_back(Difference(rule.check, rule.level,
                           absl::StrCat(rule.what, " is ", absl::StrJoin(parts, ", "), ", but ", *usual, " on ",
                                        Named(by_value[*usual]), ", and should be equal on all nodes"),
                           rule.remedy, std::move(odd)));
}

bool IsAscend(const v1::NodeInfo& node) { return absl::StartsWith(FactOf(node, kFactKind), "Ascend"); }

Values ValuesOf(const std::vector<ComparedHost>& hosts, const char* fact, bool only_ascend) {
  Values values;
  for (const ComparedHost& host : hosts) {
    std::string value = FactOf(*host.node, fact);
    if (value.empty() || (only_ascend && !IsAscend(*host.node))) continue;
    values.emplace_back(host.node_id, std::move(value));
  }
  return values;
}

// Parses "0=a,1=b"; ignores malformed items.
Values Items(const std::string& list) {
  Values items;
  for (const absl::string_view item : absl::StrSplit(list, ',', absl::SkipEmpty())) {
    const std::pair<std::string, std::string> sides = absl::StrSplit(item, absl::MaxSplits('=', 1));
    if (!sides.second.empty()) items.push_back(sides);
  }
  return items;
}

// Returns the devices of each machine, under the id of the machine's first node.
Values DevicesOfMachines(const std::vector<ComparedHost>& hosts) {
  std::map<std::string, size_t> place;
  std::vector<std::pair<std::string, uint64_t>> machines;
  for (const ComparedHost& host : hosts) {
    uint64_t count = 0;
    if (!IsAscend(*host.node) || !absl::SimpleAtoi(FactOf(*host.node, kFactDevices), &count)) continue;
    const auto [found, is_new] = place.emplace(host.node->machine_id(), machines.size());
    if (is_new) machines.emplace_back(host.node_id, 0);
    machines[found->second].second += count;
  }
  Values values;
  for (const auto& [id, count] : machines) values.emplace_back(id, absl::StrCat(count));
  return values;
}

void CompareAddresses(const std::vector<ComparedHost>& hosts, std::vector<HostDifference>& out) {
  struct Seen {
    const ComparedHost* host;
    std::string device;
  };
  std::map<std::string, Seen> seen;
  std::set<std::string> machines;
  std::vector<std::string> odd;
  std::string text;
  std::string remedy;
  for (const ComparedHost& host : hosts) {
    for (const auto& [device, address] : Items(FactOf(*host.node, kFactAddresses))) {
      machines.insert(host.node->machine_id());
      const auto [first, is_new] = seen.emplace(address, Seen{&host, device});
      if (is_new || first->second.host->node->machine_id() == host.node->machine_id()) continue;
      // The text describes the first pair; all nodes are named, so that the user can fix all at once.
      if (odd.empty()) {
        text = absl::StrCat("device ", device, " of node ", host.node_id, " and device ", first->second.device,
                            " of node ", first->second.host->node_id, " both have the address ", address,
                            ", and each should have its own");
        remedy = absl::StrCat("on node ", host.node_id, ": hccn_tool -i ", device,
                              " -ip -s address ADDRESS netmask 255.255.255.0");
      }
      if (odd.empty() || odd.back() != host.node_id) odd.push_back(host.node_id);
    }
  }
  if (!odd.empty()) {
    if (odd.size() > 1) absl::StrAppend(&text, "; nodes with such a device: ", Named(odd));
    return out.push_back(Difference("unique_addresses", HostFinding::ERROR, text, remedy, std::move(odd)));
  }
  if (machines.size() > 1)
    out.push_back(Difference("unique_addresses", HostFinding::OK, "each device has its own address"));
}

// Compares one of HCCL's variables for ranges of ports. `missing`: the level if some nodes don't set it.
void CompareHcclPorts(const char* check, const char* variable, HostFinding::Level missing, const Values& values,
                      std::vector<HostDifference>& out) {
  const bool is_missing =
      std::any_of(values.begin(), values.end(), [](const auto& value) { return value.second == kPortsNotSet; });
  Equal({check, is_missing ? missing : HostFinding::WARNING, variable,
         "on all nodes set it to a range, or to auto, or leave it out"},
        values, out);
}

void CompareSegments(const std::vector<ComparedHost>& hosts, std::vector<HostDifference>& out) {
  std::map<std::string, Values> by_device;
  for (const ComparedHost& host : hosts) {
    if (FactOf(*host.node, kFactKind) != "Ascend 910") continue;
    for (const auto& [device, segment] : Items(FactOf(*host.node, kFactSegments))) {
      by_device[device].emplace_back(host.node_id, segment);
    }
  }
  std::vector<HostDifference> found;
  for (const auto& [device, values] : by_device) {
    const std::string what = absl::StrCat("the network segment of device ", device);
    Equal({"same_segments", HostFinding::ERROR, what.c_str(), "hccn_tool -i N -ip -s address ADDRESS netmask MASK"},
          values, found);
  }
  for (const HostDifference& difference : found) {
    if (difference.finding.level() != HostFinding::OK) out.push_back(difference);
  }
  if (!out.empty() && out.back().finding.check() == "same_segments") return;
  if (!found.empty()) out.push_back(Difference("same_segments", HostFinding::OK, "equal on all nodes"));
}

void CountServers(const std::vector<ComparedHost>& hosts, std::vector<HostDifference>& out) {
  std::set<std::string> machines;
  bool is_first = false;
  for (const ComparedHost& host : hosts) {
    const std::string kind = FactOf(*host.node, kFactKind);
    if (kind == "Ascend 910" || kind == "Ascend A2" || kind == "Ascend A3") machines.insert(host.node->machine_id());
    is_first = is_first || kind == "Ascend 910";
  }
  const size_t most = is_first ? 512 : 1152;
  if (machines.size() < 2) return;
  if (machines.size() <= most)
    return out.push_back(Difference("servers", HostFinding::OK, absl::StrCat(machines.size())));
  out.push_back(Difference(
      "servers", HostFinding::WARNING, absl::StrCat(machines.size(), " servers take part, but at most ", most, " may"),
      "use fewer servers, or several jobs; containers with networks of their own count as servers"));
}

void CompareClocks(const std::vector<ComparedHost>& hosts, std::vector<HostDifference>& out) {
  std::vector<std::pair<int64_t, std::string>> ahead;
  for (const ComparedHost& host : hosts) {
    int64_t ms = 0;
    if (absl::SimpleAtoi(FactOf(*host.node, kFactClock), &ms)) ahead.emplace_back(ms, host.node_id);
  }
  if (ahead.size() < 2) return;
  std::sort(ahead.begin(), ahead.end());
  const int64_t middle = ahead[(ahead.size() - 1) / 2].first;
  std::vector<std::string> odd;
  for (const auto& [ms, id] : ahead) {
    // A double, because the difference of extreme numbers could overflow an integer.
    const double apart = static_cast<double>(ms) - static_cast<double>(middle);
    if (apart > kMaxClockMs || apart < -kMaxClockMs) odd.push_back(id);
  }
  if (odd.empty()) return out.push_back(Difference("clocks", HostFinding::OK, "together"));
  const std::string text = absl::StrCat("the clock is over 30 s away from the other nodes' clocks on ", Named(odd),
                                        ": it should be within 30 s of them");
  out.push_back(Difference("clocks", HostFinding::WARNING, text, "set it: timedatectl set-ntp true", std::move(odd)));
}

// Returns the fact as a positive number; nullopt if it is none.
std::optional<double> NumberOf(const v1::NodeInfo& node, const char* fact) {
  double number = 0;
  if (!absl::SimpleAtod(FactOf(node, fact), &number) || !std::isfinite(number) || number <= 0) return std::nullopt;
  return number;
}

void CompareScores(const std::vector<ComparedHost>& hosts, std::vector<HostDifference>& out) {
  struct Scored {
    double score;
    double ratio;  // of this node's own --straggler_ratio
    std::string id;
  };
  std::vector<Scored> all;
  for (const ComparedHost& host : hosts) {
    const std::optional<double> score = NumberOf(*host.node, kFactScore);
    if (!score) continue;
    all.push_back({*score, NumberOf(*host.node, kFactStragglerRatio).value_or(kUsualStragglerRatio), host.node_id});
  }
  if (all.size() < 2) return;
  std::sort(all.begin(), all.end(), [](const Scored& a, const Scored& b) { return a.score < b.score; });
  const double middle = all[(all.size() - 1) / 2].score;
  std::vector<std::string> slow;
  double slowest = 0;
  for (const Scored& one : all) {
    if (one.score <= one.ratio * middle) continue;
    slow.push_back(one.id);
    slowest = one.score;  // they are in the order of their scores
  }
  if (slow.empty()) {
    return out.push_back(
        Difference(kScoreCheck, HostFinding::OK, absl::StrCat(all.front().score, " to ", all.back().score)));
  }
  const std::string text =
      absl::StrCat(slow.size() == 1 ? "node " : "nodes ", Named(slow),
                   slow.size() == 1 ? " is slow: its score is " : " are slow: their scores are up to ", slowest,
                   ", and the median of all nodes is ", middle, " (--straggler_ratio)");
  out.push_back(
      Difference(kScoreCheck, HostFinding::WARNING, text,
                 "look there for other programs, CPU limits, heat or a bad device; --exclude_stragglers gives "
                 "its place to a spare",
                 std::move(slow)));
}

}  // namespace

int HostBytes(const v1::NodeInfo& node) {
  size_t bytes = 0;
  for (const v1::HostFact& fact : node.host_facts()) bytes += fact.ByteSizeLong();
  for (const HostFinding& finding : node.host_findings()) bytes += finding.ByteSizeLong();
  return static_cast<int>(bytes);
}

std::string FactOf(const v1::NodeInfo& node, const std::string& name) {
  for (const v1::HostFact& fact : node.host_facts()) {
    if (fact.name() == name) return fact.value();
  }
  return "";
}

std::vector<HostDifference> CompareHosts(const std::vector<ComparedHost>& all) {
  std::vector<ComparedHost> hosts;
  for (const ComparedHost& host : all) {
    if (host.node->host_facts_size() > 0) hosts.push_back(host);
  }
  std::vector<HostDifference> out;
  if (hosts.size() < 2) return out;
  Equal({"same_kind", HostFinding::WARNING, "the kind of devices", "use servers of one kind for one job"},
        ValuesOf(hosts, kFactKind, false), out);
  Equal({"same_driver", HostFinding::WARNING, "the driver's version", "install one version of the driver on all nodes"},
        ValuesOf(hosts, kFactDriver, false), out);
  Equal({"same_mtu", HostFinding::WARNING, "the MTU", "ip link set NAME mtu N, the same on all nodes and switches"},
        ValuesOf(hosts, kFactMtu, false), out);
  Equal({"same_nic", HostFinding::WARNING, "the name of the interface",
         "give it the same name, or set HCCL_IF_IP on each node"},
        ValuesOf(hosts, kFactNic, true), out);
  Equal({"same_tls", HostFinding::ERROR, "the devices' TLS switch",
         "on all nodes: hccn_tool -i N -tls -s enable 0 (or 1)"},
        ValuesOf(hosts, kFactTls, true), out);
  Equal({"same_devices", HostFinding::WARNING, "the number of devices", "give all servers the same --local_worker_num"},
        DevicesOfMachines(hosts), out);
  CompareAddresses(hosts, out);
  CompareSegments(hosts, out);
  CompareHcclPorts("same_host_ports", "HCCL_HOST_SOCKET_PORT_RANGE", HostFinding::WARNING,
                   ValuesOf(hosts, kFactHostPorts, false), out);
  // HCCL demands this one on all devices of a communicator: the others would connect to the default port, 16666.
  CompareHcclPorts("same_npu_ports", "HCCL_NPU_SOCKET_PORT_RANGE", HostFinding::ERROR,
                   ValuesOf(hosts, kFactDevicePorts, false), out);
  CountServers(hosts, out);
  CompareClocks(hosts, out);
  CompareScores(hosts, out);
  return out;
}

std::string LevelWord(HostFinding::Level level) {
  switch (level) {
    case HostFinding::OK:
      return "ok";
    case HostFinding::WARNING:
      return "warning";
    case HostFinding::ERROR:
      return "error";
    default:
      return "not_checked";
  }
}

bool IsFatal(const v1::HostFinding& finding, const std::string& fatal) {
  return finding.level() >= (fatal == "warning" ? HostFinding::WARNING : HostFinding::ERROR);
}

}  // namespace muster
