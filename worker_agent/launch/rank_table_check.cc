#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "common/base/text.h"
#include "common/net/address_rules.h"
#include "worker_agent/launch/rank_table_parts.h"

namespace muster::agent {
namespace {

constexpr size_t kMaxProblems = 50;

std::string Place(const TableServer& server, const TableDevice& device) {
  return absl::StrCat("device ", device.device_id, " of server ", server.server_id);
}

std::string TextOf(const nlohmann::json& object, const char* name) {
  const auto found = object.find(name);
  return found != object.end() && found->is_string() ? found->get<std::string>() : "";
}

// Returns the index of each server's pod, by server id. Leaves out entries that can't be read, and reports them.
std::map<std::string, size_t> PodsOfServers(const nlohmann::json& pods, TableProblems& problems) {
  std::map<std::string, size_t> pod_of;
  for (size_t i = 0; i < pods.size(); ++i) {
    const nlohmann::json& pod = pods[i];
    const std::string entry = absl::StrCat("super_pod_list[", i, "]");
    const auto servers = pod.is_object() ? pod.find("server_list") : pod.end();
    if (!pod.is_object() || servers == pod.end() || !servers->is_array()) {
      problems.Add("super_pod_server_list", entry, "each entry of super_pod_list must have a server_list",
                   R"({"super_pod_id": "0", "server_list": [{"server_id": "…"}]})");
      continue;
    }
    for (size_t j = 0; j < servers->size(); ++j) {
      const nlohmann::json& server = (*servers)[j];
      const std::string here = absl::StrCat(entry, ".server_list[", j, "]");
      const std::string id = server.is_object() ? TextOf(server, "server_id") : "";
      if (id.empty()) {
        problems.Add("super_pod_server_id", here, "it has no server_id", R"({"server_id": "…"} of server_list)");
        continue;
      }
      const auto [other, is_new] = pod_of.emplace(id, i);
      if (is_new) continue;
      problems.Add(
          "super_pod_server_unique", here,
          absl::StrCat("server ", id, " is in super pods ", EscapeControl(TextOf(pods[other->second], "super_pod_id")),
                       " and ", EscapeControl(TextOf(pod, "super_pod_id"))),
          "each server in one super pod only");
    }
  }
  return pod_of;
}

void CheckPodIds(const nlohmann::json& pods, TableProblems& problems) {
  std::set<std::string> ids;
  for (size_t i = 0; i < pods.size(); ++i) {
    if (!pods[i].is_object()) continue;
    const std::string entry = absl::StrCat("super_pod_list[", i, "]");
    const std::string id = TextOf(pods[i], "super_pod_id");
    if (id.empty()) {
      problems.Add("super_pod_id", entry, "it has no super_pod_id", R"("super_pod_id": "0", or another text)");
    } else if (!ids.insert(id).second) {
      problems.Add("super_pod_id_unique", entry, absl::StrCat("super_pod_id ", Quoted(id), " appears twice"),
                   "another super_pod_id, or one entry with the servers of both");
    }
  }
}

void CheckSuperDevices(const RankTable& table, const std::map<std::string, size_t>& pod_of, TableProblems& problems) {
  std::map<std::pair<size_t, uint32_t>, std::string> owner;
  for (const TableServer& server : table.servers) {
    const auto pod = pod_of.find(server.server_id);
    if (pod == pod_of.end()) continue;
    for (const TableDevice& device : server.devices) {
      if (!device.super_device_id) continue;
      const auto [other, is_new] =
          owner.emplace(std::pair(pod->second, *device.super_device_id), Place(server, device));
      if (is_new) continue;
      problems.Add("super_device_id_unique", device.entry,
                   absl::StrCat("super_device_id ", *device.super_device_id, " appears twice in its super pod, at ",
                                other->second, " and at ", Place(server, device)),
                   "the device's own number in the super pod");
    }
  }
}

// Checks the addresses of one device, and returns their number. `owner` has the devices of the addresses seen so far.
size_t CheckAddressesOf(const TableServer& server, const TableDevice& device, std::map<IpAddress, std::string>& owner,
                        TableProblems& problems) {
  size_t count = 0;
  for (const absl::string_view item : absl::StrSplit(device.device_ip, ',')) {
    const std::optional<IpAddress> address = IpAddress::Parse(std::string(item));
    ++count;
    if (!address || address->is_any()) {
      problems.Add(
          "device_ip", device.entry,
          absl::StrCat("device_ip ", Quoted(device.device_ip), " of ", Place(server, device), " is no address"),
          absl::StrCat("the address that hccn_tool -i ", device.device_id, " -ip -g prints"));
      continue;
    }
    if (IsLinkLocal(*address)) {
      problems.Add(
          "link_local", device.entry,
          absl::StrCat("device_ip ", Quoted(device.device_ip), " of ", Place(server, device), " ", kNoLinkLocal),
          absl::StrCat("the address that hccn_tool -i ", device.device_id, " -ip -g prints"));
    }
    const auto [other, is_new] = owner.emplace(*address, Place(server, device));
    if (is_new) continue;
    problems.Add("device_ip_unique", device.entry,
                 absl::StrCat("device_ip ", address->ToString(), " appears twice, at ", other->second, " and at ",
                              Place(server, device)),
                 absl::StrCat("the address that hccn_tool -i ", device.device_id, " -ip -g prints on that server"));
  }
  return count;
}

}  // namespace

void TableProblems::Add(const std::string& rule, const std::string& entry, const std::string& found,
                        const std::string& remedy) {
  if (problems_.size() < kMaxProblems) problems_.push_back({rule, entry, EscapeControl(found), EscapeControl(remedy)});
}

void CheckRanks(const RankTable& table, TableProblems& problems) {
  struct Owner {
    std::string place;
    std::string entry;
  };
  FreeNumbers free_ranks;
  for (const TableServer& server : table.servers) {
    for (const TableDevice& device : server.devices) free_ranks.Use(device.rank);
  }
  std::map<uint32_t, Owner> owner;
  size_t count = 0;
  for (const TableServer& server : table.servers) {
    count += server.devices.size();
    for (const TableDevice& device : server.devices) {
      const auto [other, is_new] = owner.try_emplace(device.rank, Owner{Place(server, device), device.entry});
      if (is_new) continue;
      problems.Add("rank_id_unique", device.entry,
                   absl::StrCat("rank_id ", device.rank, " is given twice, to ", other->second.place, " and to ",
                                Place(server, device)),
                   absl::StrCat("\"rank_id\": \"", free_ranks.Take(), "\", which no device has"));
    }
  }
  if (owner.size() != count) return;  // a rank that is given twice, reported above, explains the missing one
  uint32_t expected = 0;
  for (const auto& [rank, has_it] : owner) {
    if (rank != expected) {
      return problems.Add(
          "rank_id_no_gap", has_it.entry,
          absl::StrCat("rank_id ", expected, " is missing: the ", count, " devices must have the rank ids 0 to ",
                       count - 1, ", but ", has_it.place, " has ", rank),
          absl::StrCat("\"rank_id\": \"", expected, "\""));
    }
    ++expected;
  }
}

void CheckServers(const RankTable& table, TableProblems& problems) {
  std::set<std::string> ids;
  for (const TableServer& server : table.servers) {
    if (!ids.insert(server.server_id).second) {
      problems.Add("server_id_unique", server.entry, absl::StrCat("server_id ", server.server_id, " appears twice"),
                   "the server's own address, or all its devices in one entry");
    }
    FreeNumbers free_ids;
    for (const TableDevice& device : server.devices) free_ids.Use(device.device_id);
    for (size_t i = 1; i < server.devices.size(); ++i) {  // devices are sorted by id
      if (server.devices[i].device_id != server.devices[i - 1].device_id) continue;
      problems.Add("device_id_unique", server.devices[i].entry,
                   absl::StrCat(Place(server, server.devices[i]), " appears twice"),
                   absl::StrCat("\"device_id\": \"", free_ids.Take(), "\", or another device of that server"));
    }
  }
}

void CheckDeviceAddresses(const RankTable& table, bool has_one_pod, TableProblems& problems) {
  const bool is_needed = table.servers.size() > 1 && !has_one_pod;
  std::map<IpAddress, std::string> owner;
  size_t per_device = 0;
  for (const TableServer& server : table.servers) {
    for (const TableDevice& device : server.devices) {
      if (device.device_ip.empty()) {
        if (!is_needed) continue;
        problems.Add("device_ip_needed", device.entry,
                     absl::StrCat(Place(server, device), " has no device_ip, which a table of several servers needs"),
                     absl::StrCat("\"device_ip\": what hccn_tool -i ", device.device_id, " -ip -g prints there"));
        continue;
      }
      const size_t count = CheckAddressesOf(server, device, owner, problems);
      if (per_device != 0 && count != per_device) {
        problems.Add(
            "device_ip_count", device.entry,
            absl::StrCat(Place(server, device), " has ", count, " addresses in device_ip, others have ", per_device),
            absl::StrCat(per_device, per_device == 1 ? " address" : " addresses, with commas between them"));
      }
      if (per_device == 0) per_device = count;
    }
  }
}

void CheckPods(const RankTable& table, const nlohmann::json& pods, TableProblems& problems) {
  std::map<std::string, size_t> pod_of = PodsOfServers(pods, problems);
  CheckPodIds(pods, problems);
  CheckSuperDevices(table, pod_of, problems);
  for (const TableServer& server : table.servers) {
    if (pod_of.erase(server.server_id) > 0) continue;
    problems.Add("super_pod_complete", server.entry, absl::StrCat("server ", server.server_id, " is in no super pod"),
                 absl::StrCat("{\"server_id\": \"", server.server_id, "\"} in its entry of super_pod_list"));
  }
  for (const auto& [id, pod] : pod_of) {
    problems.Add("super_pod_server_known", absl::StrCat("super_pod_list[", pod, "]"),
                 absl::StrCat("super pod ", TextOf(pods[pod], "super_pod_id"), " names server ", id,
                              ", which is not in server_list"),
                 "only servers of server_list");
  }
}

}  // namespace muster::agent
