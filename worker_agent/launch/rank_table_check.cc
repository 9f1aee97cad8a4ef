#include "worker_agent/launch/rank_table_check.h"

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"

namespace muster::agent {
namespace {

absl::Status WrongTable(const std::string& what) { return absl::InvalidArgumentError(what); }

std::string Place(const TableServer& server, const TableDevice& device) {
  return absl::StrCat("device ", device.device_id, " of server ", server.server_id);
}

}  // namespace

absl::Status CheckRanks(const RankTable& table) {
  std::map<uint32_t, std::string> owner;
  for (const TableServer& server : table.servers) {
    for (const TableDevice& device : server.devices) {
      const auto [other, is_new] = owner.emplace(device.rank, Place(server, device));
      if (!is_new) {
        return WrongTable(absl::StrCat("rank_id ", device.rank, " is given twice, to ", other->second, " and to ",
                                       Place(server, device)));
      }
    }
  }
  uint32_t expected = 0;
  for (const auto& [rank, place] : owner) {
    if (rank != expected) {
      return WrongTable(absl::StrCat("rank_id ", expected, " is missing: the ", owner.size(),
                                     " devices must have the rank ids 0 to ", owner.size() - 1, ", but ", place,
                                     " has ", rank));
    }
    ++expected;
  }
  return absl::OkStatus();
}

absl::Status CheckServers(const RankTable& table) {
  std::set<std::string> ids;
  for (const TableServer& server : table.servers) {
    if (!ids.insert(server.server_id).second)
      return WrongTable(absl::StrCat("server_id ", server.server_id, " stands twice"));
    for (size_t i = 1; i < server.devices.size(); ++i) {  // they are in order
      if (server.devices[i].device_id == server.devices[i - 1].device_id) {
        return WrongTable(absl::StrCat(Place(server, server.devices[i]), " stands twice"));
      }
    }
  }
  return absl::OkStatus();
}

absl::Status CheckDeviceAddresses(const RankTable& table, bool has_one_pod) {
  const bool is_needed = table.servers.size() > 1 && !has_one_pod;
  std::map<IpAddress, std::string> owner;
  size_t per_device = 0;
  for (const TableServer& server : table.servers) {
    for (const TableDevice& device : server.devices) {
      if (device.device_ip.empty()) {
        if (!is_needed) continue;
        return WrongTable(absl::StrCat(Place(server, device), " has no device_ip, which more than one server needs"));
      }
      size_t count = 0;
      for (const absl::string_view item : absl::StrSplit(device.device_ip, ',')) {
        const std::optional<IpAddress> address = IpAddress::Parse(std::string(item));
        if (!address) {
          return WrongTable(
              absl::StrCat("device_ip \"", device.device_ip, "\" of ", Place(server, device), " is no address"));
        }
        const auto [other, is_new] = owner.emplace(*address, Place(server, device));
        if (!is_new) {
          return WrongTable(absl::StrCat("device_ip ", address->ToString(), " stands twice, at ", other->second,
                                         " and at ", Place(server, device)));
        }
        ++count;
      }
      if (per_device != 0 && count != per_device) {
        return WrongTable(
            absl::StrCat(Place(server, device), " has ", count, " addresses in device_ip, others have ", per_device));
      }
      per_device = count;
    }
  }
  return absl::OkStatus();
}

absl::Status CheckPods(const RankTable& table, const nlohmann::json& pods) {
  std::map<std::string, std::string> pod_of;
  for (const auto& pod : pods) {
    const auto servers = pod.is_object() ? pod.find("server_list") : pod.end();
    if (!pod.is_object() || servers == pod.end() || !servers->is_array()) {
      return WrongTable("each entry of super_pod_list must have a server_list");
    }
    const std::string pod_id =
        pod.contains("super_pod_id") && pod["super_pod_id"].is_string() ? pod["super_pod_id"] : "?";
    for (const auto& server : *servers) {
      if (!server.is_object() || !server.contains("server_id") || !server["server_id"].is_string()) {
        return WrongTable(absl::StrCat("super pod ", pod_id, " has an entry without server_id"));
      }
      const std::string id = server["server_id"];
      const auto [other, is_new] = pod_of.emplace(id, pod_id);
      if (!is_new)
        return WrongTable(absl::StrCat("server ", id, " stands in super pods ", other->second, " and ", pod_id));
    }
  }
  for (const TableServer& server : table.servers) {
    if (pod_of.erase(server.server_id) == 0)
      return WrongTable(absl::StrCat("server ", server.server_id, " is in no super pod"));
  }
  if (!pod_of.empty()) {
    return WrongTable(absl::StrCat("super pod ", pod_of.begin()->second, " names server ", pod_of.begin()->first,
                                   ", which is not in server_list"));
  }
  return absl::OkStatus();
}

}  // namespace muster::agent
