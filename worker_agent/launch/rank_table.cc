#include "worker_agent/launch/rank_table.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/escaping.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "common/base/limits.h"
#include "common/base/sha256.h"
#include "common/base/text.h"
#include "common/sys/file_io.h"
#include "worker_agent/launch/rank_table_check.h"

namespace muster::agent {
namespace {

constexpr size_t kServerIdBytes = 63;
constexpr size_t kDeviceIpBytes = 1024;
constexpr uint32_t kHighestDevice = 65535;
constexpr int kDeepest = 8;  // a table nests five deep
constexpr size_t kMostNamed = 8;

absl::Status Wrong(const std::string& what) { return absl::InvalidArgumentError(what); }

// The format has strings throughout; some tools write numbers. Empty when absent or of another kind.
std::string Text(const nlohmann::json& object, const char* name) {
  const auto found = object.find(name);
  if (found == object.end()) return "";
  if (found->is_string()) return found->get<std::string>();
  if (found->is_number_unsigned()) return std::to_string(found->get<uint64_t>());
  return "";
}

absl::StatusOr<uint32_t> Number(const nlohmann::json& object, const char* name, uint32_t highest,
                                const std::string& where) {
  const std::string text = Text(object, name);
  uint32_t number = 0;
  const bool is_number = !text.empty() && text.find_first_not_of("0123456789") == std::string::npos;
  if (!is_number || !absl::SimpleAtoi(text, &number) || number > highest) {
    return Wrong(absl::StrCat(where, ": ", name, " is ", Quoted(text), ", expected a number from 0 to ", highest));
  }
  return number;
}

absl::StatusOr<TableDevice> ReadDevice(const nlohmann::json& json, const std::string& where) {
  if (!json.is_object()) return Wrong(absl::StrCat(where, ": a device must be an object"));
  TableDevice device;
  const auto id = Number(json, "device_id", kHighestDevice, where);
  if (!id.ok()) return id.status();
  device.device_id = *id;
  const std::string here = absl::StrCat(where, ", device ", device.device_id);
  const auto rank = Number(json, "rank_id", kMaxWorkers - 1, here);
  if (!rank.ok()) return rank.status();
  device.rank = *rank;
  device.device_ip = Text(json, "device_ip");
  if (device.device_ip.size() > kDeviceIpBytes) return Wrong(absl::StrCat(here, ": device_ip is too long"));
  if (json.contains("device_port")) {
    const auto port = Number(json, "device_port", 65535, here);
    if (!port.ok()) return port.status();
  }
  return device;
}

absl::StatusOr<TableServer> ReadServer(const nlohmann::json& json, size_t index) {
  const std::string where = absl::StrCat("server_list[", index, "]");
  if (!json.is_object()) return Wrong(absl::StrCat(where, " must be an object"));
  TableServer server;
  server.server_id = Text(json, "server_id");
  if (server.server_id.empty() || server.server_id.size() > kServerIdBytes) {
    return Wrong(absl::StrCat(where, ": server_id is ", Quoted(server.server_id), ", expected 1 to ", kServerIdBytes,
                              " characters"));
  }
  for (const char* name : {"server_id", "host_ip", "pod_ip", "container_ip"}) {
    const std::string address = Text(json, name);
    if (!address.empty()) server.addresses.push_back(address);
  }
  const auto devices = json.find("device");
  if (devices == json.end() || !devices->is_array() || devices->empty()) {
    return Wrong(absl::StrCat("server ", server.server_id, " has no device"));
  }
  if (devices->size() > kMaxSlotsPerNode) {
    return Wrong(absl::StrCat("server ", server.server_id, " has ", devices->size(), " devices; at most ",
                              kMaxSlotsPerNode, " are allowed"));
  }
  for (const nlohmann::json& entry : *devices) {
    auto device = ReadDevice(entry, absl::StrCat("server ", server.server_id));
    if (!device.ok()) return device.status();
    server.devices.push_back(*std::move(device));
  }
  std::stable_sort(server.devices.begin(), server.devices.end(),
                   [](const TableDevice& a, const TableDevice& b) { return a.device_id < b.device_id; });
  return server;
}

absl::Status CheckHead(const nlohmann::json& json) {
  const std::string status = Text(json, "status");
  if (status != "completed") {
    return absl::FailedPreconditionError(
        absl::StrCat("its status is ", Quoted(status), ", expected \"completed\": whoever writes it is not done yet"));
  }
  const std::string version = Text(json, "version");
  if (version != "1.0" && version != "1.2") {
    return Wrong(absl::StrCat("its version is ", Quoted(version), "; 1.0 and 1.2 can be read"));
  }
  if (!json.contains("server_list") || !json["server_list"].is_array()) return Wrong("it has no server_list");
  const size_t count = json["server_list"].size();
  if (count == 0) return Wrong("its server_list is empty");
  const auto announced = Number(json, "server_count", kMaxWorkers, "the table");
  if (!announced.ok()) return announced.status();
  if (*announced != count) {
    return Wrong(absl::StrCat("server_count is ", *announced, ", but server_list has ", count, " servers"));
  }
  return absl::OkStatus();
}

absl::Status CheckWhole(const RankTable& table, const nlohmann::json& json) {
  if (absl::Status status = CheckServers(table); !status.ok()) return status;
  if (absl::Status status = CheckRanks(table); !status.ok()) return status;
  bool has_one_pod = false;
  if (table.version == "1.2" && json.contains("super_pod_list")) {
    const nlohmann::json& pods = json["super_pod_list"];
    if (!pods.is_array()) return Wrong("super_pod_list must be a list");
    if (absl::Status status = CheckPods(table, pods); !status.ok()) return status;
    has_one_pod = pods.size() == 1;
  }
  return CheckDeviceAddresses(table, has_one_pod);
}

absl::StatusOr<RankTable> Read(const std::string& text) {
  const nlohmann::json json = nlohmann::json::parse(
      text, [](int depth, nlohmann::json::parse_event_t, nlohmann::json&) { return depth <= kDeepest; }, false);
  if (!json.is_object()) {
    return Wrong("it is no JSON object (cut off? some tools write it in place: try again in a moment)");
  }
  if (absl::Status status = CheckHead(json); !status.ok()) return status;
  RankTable table;
  table.version = Text(json, "version");
  for (const nlohmann::json& entry : json["server_list"]) {
    auto server = ReadServer(entry, table.servers.size());
    if (!server.ok()) return server.status();
    table.rank_count += static_cast<uint32_t>(server->devices.size());
    table.servers.push_back(*std::move(server));
  }
  if (absl::Status status = CheckWhole(table, json); !status.ok()) return status;
  table.digest = absl::BytesToHexString(Sha256(text));
  return table;
}

bool IsOneOf(const std::string& text, const std::vector<IpAddress>& addresses) {
  const std::optional<IpAddress> address = IpAddress::Parse(text);
  return address && std::find(addresses.begin(), addresses.end(), *address) != addresses.end();
}

}  // namespace

absl::StatusOr<RankTable> ParseRankTable(const std::string& text, const std::string& name) {
  absl::StatusOr<RankTable> table = Read(text);
  if (table.ok()) return table;
  return absl::Status(table.status().code(), absl::StrCat("rank table ", name, ": ", table.status().message()));
}

absl::StatusOr<RankTable> LoadRankTable(const std::string& path) {
  const absl::StatusOr<std::string> text = ReadSmallFile(path, kMaxRankTableBytes);
  if (!text.ok()) {
    return absl::Status(text.status().code(),
                        absl::StrCat("rank table (--rank_table_file): ", text.status().message()));
  }
  return ParseRankTable(*text, path);
}

absl::StatusOr<const TableServer*> FindServer(const RankTable& table, const std::vector<IpAddress>& own_addresses) {
  for (const TableServer& server : table.servers) {
    for (const std::string& address : server.addresses) {
      if (IsOneOf(address, own_addresses)) return &server;
    }
  }
  std::vector<std::string> tried;
  for (const IpAddress& address : own_addresses) tried.push_back(address.ToString());
  std::vector<std::string> known;
  for (const TableServer& server : table.servers) {
    if (known.size() < kMostNamed) known.push_back(server.server_id);
  }
  const std::string more = table.servers.size() > known.size() ? ", …" : "";
  return absl::NotFoundError(absl::StrCat(
      "this machine is not in the rank table: none of its addresses (", absl::StrJoin(tried, ", "),
      ") is the server_id, host_ip, pod_ip or container_ip of one of its ", table.servers.size(), " servers (",
      absl::StrJoin(known, ", "), more, "); correct the table, or give this node's address with MS_WORKER_IP"));
}

std::vector<uint32_t> TableRanks(const TableServer& server) {
  std::vector<uint32_t> ranks;
  for (const TableDevice& device : server.devices) ranks.push_back(device.rank);
  return ranks;
}

std::vector<v1::SlotOffer> TableOffers(const TableServer& server) {
  std::vector<v1::SlotOffer> offers;
  for (const TableDevice& device : server.devices) {
    v1::SlotOffer& offer = offers.emplace_back();
    offer.set_device_id(std::to_string(device.device_id));
    offer.set_device_address(device.device_ip);
  }
  return offers;
}

}  // namespace muster::agent
