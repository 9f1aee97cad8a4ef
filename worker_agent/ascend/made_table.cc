// | the devices                                       | RankTableText returns                      |
// |---------------------------------------------------|--------------------------------------------|
// | no node has reported its super pod                | a table of version 1.0                     |
// | all nodes have reported it                        | one of version 1.2, with super_pod_list    |
// | some nodes have, others have not                  | an error that names a node without one     |
// | a worker's device is not known                    | an error that names its node               |
// | a rule is broken (an address twice, missing, …)   | an error that names the rule and the entry |
#include "worker_agent/ascend/made_table.h"

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "common/net/ip_address.h"
#include "common/net/peer_node.h"
#include "worker_agent/launch/rank_table.h"

namespace muster::agent {
namespace {

using Json = nlohmann::json;

absl::Status Incomplete(const std::string& what) {
  return absl::FailedPreconditionError("no rank table can be made: " + what);
}

absl::Status CheckAllKnown(const std::vector<RankedDevice>& devices) {
  if (devices.empty()) return Incomplete("the job has no workers");
  const bool has_pods = std::any_of(devices.begin(), devices.end(), [](const auto& d) { return !d.super_pod.empty(); });
  for (const RankedDevice& device : devices) {
    const std::string who = absl::StrCat("node ", device.node_id, " (rank ", device.rank, ")");
    if (device.device_id.empty()) {
      return Incomplete(absl::StrCat(who, " has reported no device: start all nodes with --hccl_mode table"));
    }
    if (device.address.empty())
      return Incomplete(absl::StrCat("the address of ", who, " is not known: give --worker_ip"));
    if (has_pods && device.super_pod.empty()) {
      return Incomplete(
          absl::StrCat(who, " has no super pod, but other nodes have one: give --super_pod on all nodes"));
    }
  }
  return absl::OkStatus();
}

Json DeviceJson(const RankedDevice& device) {
  Json json{{"device_id", device.device_id}, {"rank_id", std::to_string(device.rank)}};
  if (!device.device_ip.empty()) json["device_ip"] = device.device_ip;
  if (!device.super_device_id.empty()) json["super_device_id"] = device.super_device_id;
  return json;
}

}  // namespace

std::vector<RankedDevice> DevicesOf(const v1::PeerList& peers) {
  std::vector<RankedDevice> devices;
  for (const v1::PeerNode& peer : peers.nodes()) {
    if (peer.role() != v1::ROLE_WORKER) continue;
    const auto address = IpAddress::FromBytes(peer.address());
    for (int slot = 0; slot < SlotCount(peer); ++slot) {
      RankedDevice& device = devices.emplace_back();
      device.rank = RankOf(peer, slot);
      device.machine = peer.machine();
      if (address) device.address = address->ToString();
      device.node_id = peer.node_id();
      device.device_id = DeviceIdOf(peer, slot);
      device.device_ip = DeviceAddressOf(peer, slot);
      device.super_pod = peer.super_pod();
      device.super_device_id = SuperDeviceIdOf(peer, slot);
    }
  }
  return devices;
}

absl::StatusOr<std::string> RankTableText(std::vector<RankedDevice> devices) {
  if (absl::Status status = CheckAllKnown(devices); !status.ok()) return status;
  std::sort(devices.begin(), devices.end(), [](const auto& a, const auto& b) { return a.rank < b.rank; });
  std::map<uint32_t, size_t> place_of;  // machine → its place in server_list, which is in the order of first ranks
  std::vector<std::pair<std::string, Json>> pods;  // super pod and its servers, in the order of first ranks
  Json servers = Json::array();
  for (const RankedDevice& device : devices) {
    const auto [place, is_new] = place_of.emplace(device.machine, servers.size());
    if (is_new) {
      servers.push_back({{"server_id", device.address}, {"device", Json::array()}});
      auto pod = std::find_if(pods.begin(), pods.end(), [&](const auto& p) { return p.first == device.super_pod; });
      if (pod == pods.end()) pod = pods.insert(pods.end(), {device.super_pod, Json::array()});
      pod->second.push_back({{"server_id", device.address}});
    }
    servers[place->second]["device"].push_back(DeviceJson(device));
  }
  Json table{{"status", "completed"}, {"version", "1.0"}, {"server_count", std::to_string(servers.size())}};
  table["server_list"] = std::move(servers);
  if (!devices.front().super_pod.empty()) {
    table["version"] = "1.2";
    for (auto& [id, members] : pods) {
      table["super_pod_list"].push_back({{"super_pod_id", id}, {"server_list", std::move(members)}});
    }
  }
  std::string text = table.dump(4, ' ', false, Json::error_handler_t::replace) + "\n";
  const TableReport report = CheckRankTable(text);
  if (report.problems.empty()) return text;
  const TableProblem& first = report.problems.front();
  const std::string remedy = first.rule == "device_id_unique"
                                 ? "name the devices of each agent on that machine, as in --device_ips 4=ADDRESS,…"
                             : first.rule == "server_id_unique"
                                 ? "give each machine's own address with --worker_ip"
                                 : "check --device_ips, /etc/hccn.conf and hccn_tool on that node, and that it was "
                                   "started with --hccl_mode table";
  return Incomplete(absl::StrCat(first.found, " (", first.rule, ", ", first.entry, "); ", remedy));
}

}  // namespace muster::agent
