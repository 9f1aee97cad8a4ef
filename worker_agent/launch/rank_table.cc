#include "worker_agent/launch/rank_table.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <optional>
#include <utility>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/strings/escaping.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "common/base/limits.h"
#include "common/base/sha256.h"
#include "common/base/text.h"
#include "common/net/address_rules.h"
#include "common/sys/file_io.h"
#include "worker_agent/launch/rank_table_parts.h"

namespace muster::agent {
namespace {

constexpr size_t kServerIdBytes = 63;
constexpr size_t kDeviceIpBytes = 1024;
constexpr uint32_t kHighestDevice = 65535;
constexpr uint32_t kHighestUsualDevice = 15;
constexpr size_t kMaxNamed = 8;

constexpr size_t kMaxPath = 4096;  // HCCL's limit
constexpr char kTable[] = "the table";

// Returns the member as a text. The format wants strings; some tools write numbers, which this also takes. Empty: it is
// missing or of another type.
std::string Text(const nlohmann::json& object, const char* name) {
  const auto found = object.find(name);
  if (found == object.end()) return "";
  if (found->is_string()) return found->get<std::string>();
  if (found->is_number_unsigned()) return std::to_string(found->get<uint64_t>());
  return "";
}

// Returns the member's value as the table has it, for a message.
std::string Shown(const nlohmann::json& object, const char* name) {
  const auto found = object.find(name);
  if (found == object.end()) return "missing";
  if (found->is_string()) return Quoted(found->get<std::string>());
  if (found->is_structured()) return found->is_array() ? "a list" : "an object";
  return found->dump();
}

// Reads a table's entries one after the other. After a wrong entry it goes on with the next one.
class Reader {
 public:
  explicit Reader(TableReport& report) : report_(report), problems_(report.problems) {}

  void Read(const std::string& text);

 private:
  bool ReadHead(const nlohmann::json& json);
  void ReadServer(const nlohmann::json& json, size_t index);
  void ReadDevices(const nlohmann::json& json, TableServer& server);
  std::optional<TableDevice> ReadDevice(const nlohmann::json& json, const TableServer& server, const std::string& entry,
                                        FreeNumbers& free_ids);
  std::optional<uint32_t> Number(const nlohmann::json& object, const char* name, uint32_t highest,
                                 const std::string& entry, const std::string& where,
                                 absl::FunctionRef<std::string()> remedy);
  void CheckOptionalNumber(const nlohmann::json& object, const char* name, const std::string& entry,
                           const std::string& where);
  void CheckBackupAddress(const nlohmann::json& json, const std::string& entry, const std::string& where);
  void CheckWhole(const nlohmann::json& json);
  void AddRemarks(const nlohmann::json& json);

  TableReport& report_;
  TableProblems problems_;
  FreeNumbers free_ranks_;
  bool has_numbers_ = false;
};

std::string Pair(const char* name, size_t number) { return absl::StrCat("\"", name, "\": \"", number, "\""); }

// Marks the numbers that the devices of the list have as used.
void UseNumbers(const nlohmann::json& devices, const char* name, FreeNumbers& numbers) {
  uint32_t number = 0;
  for (const nlohmann::json& device : devices) {
    if (device.is_object() && absl::SimpleAtoi(Text(device, name), &number)) numbers.Use(number);
  }
}

std::optional<uint32_t> Reader::Number(const nlohmann::json& object, const char* name, uint32_t highest,
                                       const std::string& entry, const std::string& where,
                                       absl::FunctionRef<std::string()> remedy) {
  const std::string text = Text(object, name);
  uint32_t number = 0;
  const bool is_number = !text.empty() && text.find_first_not_of("0123456789") == std::string::npos;
  if (!is_number || !absl::SimpleAtoi(text, &number) || number > highest) {
    problems_.Add(
        name, entry,
        absl::StrCat(where, ": ", name, " is ", Shown(object, name), ", expected a number from 0 to ", highest),
        remedy());
    return std::nullopt;
  }
  if (!object[name].is_string()) has_numbers_ = true;
  return number;
}

void Reader::CheckOptionalNumber(const nlohmann::json& object, const char* name, const std::string& entry,
                                 const std::string& where) {
  if (!object.contains(name)) return;
  Number(object, name, 65535, entry, where, [name] { return absl::StrCat("a port from 1 to 65535, or no ", name); });
}

void Reader::CheckBackupAddress(const nlohmann::json& json, const std::string& entry, const std::string& where) {
  if (!json.contains("backup_device_ip")) return;
  const std::string text = Text(json, "backup_device_ip");
  const auto address = IpAddress::Parse(text);
  if (address && !address->is_any() && !IsLinkLocal(*address)) return;
  problems_.Add("backup_device_ip", entry,
                absl::StrCat(where, ": backup_device_ip is ", Shown(json, "backup_device_ip"), ", expected an address"),
                "an address of another device of that server, or nothing");
}

std::optional<TableDevice> Reader::ReadDevice(const nlohmann::json& json, const TableServer& server,
                                              const std::string& entry, FreeNumbers& free_ids) {
  const std::string where = absl::StrCat("server ", server.server_id);
  const auto free_id = [&] { return Pair("device_id", free_ids.Take()); };
  const auto free_rank = [&] { return Pair("rank_id", free_ranks_.Take()); };
  if (!json.is_object()) {
    problems_.Add("device_object", entry, absl::StrCat(where, ": a device must be an object"),
                  absl::StrCat("{", free_id(), R"(, "device_ip": "…", )", free_rank(), "}"));
    return std::nullopt;
  }
  TableDevice device;
  device.entry = entry;
  const auto id = Number(json, "device_id", kHighestDevice, entry, where, free_id);
  const std::string here = id ? absl::StrCat(where, ", device ", *id) : where;
  const auto rank = Number(json, "rank_id", kMaxWorkers - 1, entry, here, free_rank);
  const auto device_ip = json.find("device_ip");
  device.device_ip = Text(json, "device_ip");
  const bool is_text = device_ip == json.end() || device_ip->is_string();
  if (!is_text || device.device_ip.size() > kDeviceIpBytes) {
    problems_.Add(
        "device_ip", entry,
        absl::StrCat(here, ": device_ip is ", is_text ? "too long" : Shown(json, "device_ip"), ", expected an address"),
        "one address, or a few with commas between them");
    device.device_ip.clear();
  }
  for (const char* name : {"device_port", "backup_device_port", "host_port", "device_vnic_port"}) {
    CheckOptionalNumber(json, name, entry, here);
  }
  CheckBackupAddress(json, entry, here);
  if (json.contains("super_device_id")) {
    device.super_device_id = Number(json, "super_device_id", UINT32_MAX, entry, here,
                                    [] { return std::string("the device's own number in the super pod"); });
  }
  if (!id || !rank) return std::nullopt;
  device.device_id = *id;
  device.rank = *rank;
  return device;
}

void Reader::ReadDevices(const nlohmann::json& json, TableServer& server) {
  const auto devices = json.find("device");
  if (devices == json.end() || !devices->is_array() || devices->empty()) {
    return problems_.Add(
        "device_list", server.entry, absl::StrCat("server ", server.server_id, " has no device"),
        absl::StrCat(R"("device": [{"device_id": "0", "device_ip": "…", )", Pair("rank_id", free_ranks_.Take()), "}]"));
  }
  if (devices->size() > kMaxSlotsPerNode) {
    return problems_.Add("device_count", server.entry,
                         absl::StrCat("server ", server.server_id, " has ", devices->size(), " devices; at most ",
                                      kMaxSlotsPerNode, " are allowed"),
                         "the devices of one server only");
  }
  FreeNumbers free_ids;
  UseNumbers(*devices, "device_id", free_ids);
  for (size_t i = 0; i < devices->size(); ++i) {
    auto device = ReadDevice((*devices)[i], server, absl::StrCat(server.entry, ".device[", i, "]"), free_ids);
    if (device) server.devices.push_back(*std::move(device));
  }
  // The devices are sorted because a device's place in the list is the number of its slot (TableRanks, TableOffers).
  std::stable_sort(server.devices.begin(), server.devices.end(),
                   [](const TableDevice& a, const TableDevice& b) { return a.device_id < b.device_id; });
}

void Reader::ReadServer(const nlohmann::json& json, size_t index) {
  TableServer server;
  server.entry = absl::StrCat("server_list[", index, "]");
  if (!json.is_object()) {
    return problems_.Add("server_object", server.entry, absl::StrCat(server.entry, " must be an object"),
                         R"({"server_id": "…", "device": [ … ]})");
  }
  server.server_id = Text(json, "server_id");
  if (server.server_id.empty() || server.server_id.size() > kServerIdBytes) {
    problems_.Add("server_id", server.entry,
                  absl::StrCat(server.entry, ": server_id is ", Shown(json, "server_id"), ", expected 1 to ",
                               kServerIdBytes, " characters"),
                  "the server's address, as a text");
    server.server_id = server.entry;  // later messages call the server by its place
  }
  server.server_id = EscapeControl(server.server_id);
  if (json.contains("host_ip") && !IpAddress::Parse(Text(json, "host_ip"))) {
    problems_.Add(
        "host_ip", server.entry,
        absl::StrCat("server ", server.server_id, ": host_ip is ", Shown(json, "host_ip"), ", expected an address"),
        "the server's address, or no host_ip");
  }
  for (const char* name : {"server_id", "host_ip", "pod_ip", "container_ip"}) {
    const std::string address = Text(json, name);
    if (!address.empty()) server.addresses.push_back(address);
    if (const auto numeric = IpAddress::Parse(address); numeric && IsLinkLocal(*numeric)) {
      problems_.Add(
          "link_local", server.entry,
          absl::StrCat("server ", server.server_id, ": ", name, " is ", Shown(json, name), ", and ", kNoLinkLocal),
          "another address of that server");
    }
  }
  ReadDevices(json, server);
  report_.table.rank_count += static_cast<uint32_t>(server.devices.size());
  report_.table.servers.push_back(std::move(server));
}

// Reads the members of the table itself. Returns false if there is no list of servers to read.
bool Reader::ReadHead(const nlohmann::json& json) {
  const std::string version = Text(json, "version");
  const std::string other = OtherFormat(json);
  if (version == "2.0" || !other.empty()) {
    problems_.Add(
        "version", kTable,
        absl::StrCat(other.empty() ? "its version is \"2.0\", the format of the devices of 2026" : other,
                     "; only 1.0 and 1.2 can be read, which have server_list"),
        "a table of version 1.0 or 1.2, which `ms-ctl ranktable --for N --hosts … --device_ips …` makes; to use this "
        "table all the same, leave --rank_table_file (RANK_TABLE_FILE) out and give the table to the processes with "
        "--env RANK_TABLE_FILE=FILE");
    return false;
  }
  const std::string status = Text(json, "status");
  if (status != "completed") {
    problems_.Add("status", kTable,
                  absl::StrCat("its status is ", Shown(json, "status"),
                               ", expected \"completed\": the tool that writes it is not done yet"),
                  R"("status": "completed", once all servers are in it)");
  }
  if (version != "1.0" && version != "1.2") {
    problems_.Add("version", kTable,
                  absl::StrCat("its version is ", Shown(json, "version"), "; 1.0 and 1.2 can be read"),
                  R"("version": "1.0", or "1.2" with super pods)");
  }
  report_.table.version = version;
  const auto servers = json.find("server_list");
  if (servers == json.end() || !servers->is_array() || servers->empty()) {
    const bool is_empty = servers != json.end() && servers->is_array();
    problems_.Add("server_list", kTable, is_empty ? "its server_list is empty" : "it has no server_list",
                  R"("server_list": [{"server_id": "…", "device": [ … ]}])");
    return false;
  }
  const auto count = [&] { return Pair("server_count", servers->size()); };
  const auto announced = Number(json, "server_count", kMaxWorkers, kTable, kTable, count);
  if (announced && *announced != servers->size()) {
    problems_.Add("server_count", kTable,
                  absl::StrCat("server_count is ", *announced, ", but server_list has ", servers->size(), " servers"),
                  count());
  }
  return true;
}

void Reader::CheckWhole(const nlohmann::json& json) {
  CheckServers(report_.table, problems_);
  CheckRanks(report_.table, problems_);
  bool has_one_pod = false;
  if (report_.table.version == "1.2" && json.contains("super_pod_list")) {
    const nlohmann::json& pods = json["super_pod_list"];
    if (pods.is_array()) {
      CheckPods(report_.table, pods, problems_);
      has_one_pod = pods.size() == 1;
    } else {
      problems_.Add("super_pod_list", kTable, "super_pod_list must be a list",
                    R"("super_pod_list": [{"super_pod_id": "0", "server_list": [{"server_id": "…"}]}])");
    }
  }
  CheckDeviceAddresses(report_.table, has_one_pod, problems_);
}

void Reader::AddRemarks(const nlohmann::json& json) {
  const RankTable& table = report_.table;
  if (has_numbers_) report_.remarks.emplace_back("some values are numbers; HCCL wants texts: \"0\", not 0");
  std::optional<uint32_t> before;
  bool rises = true;
  bool has_all_super_ids = true;
  bool has_equal_counts = true;
  uint32_t highest = 0;
  for (const TableServer& server : table.servers) {
    has_equal_counts = has_equal_counts && server.devices.size() == table.servers[0].devices.size();
    highest = std::max(highest, server.devices.back().device_id);  // devices are sorted by id
    for (const TableDevice& device : server.devices) {
      rises = rises && (!before || device.rank > *before);
      before = device.rank;
      has_all_super_ids = has_all_super_ids && device.super_device_id;
    }
  }
  if (!rises) {
    report_.remarks.emplace_back(
        "the rank ids don't rise with servers and devices; the guide asks for that order, the first server's devices "
        "first");
  }
  if (!has_equal_counts) {
    report_.remarks.emplace_back(
        "not all servers have as many devices as the first one; the guide advises equal numbers");
  }
  if (highest > kHighestUsualDevice) {
    report_.remarks.emplace_back(absl::StrCat("there is a device_id ", highest,
                                              "; servers have the devices 0 to 7, or 0 to ", kHighestUsualDevice));
  }
  if (table.version != "1.2") return;
  if (!json.contains("super_pod_list")) report_.remarks.emplace_back("version 1.2 without super_pod_list");
  if (!has_all_super_ids) report_.remarks.emplace_back("version 1.2, but not all devices have a super_device_id");
}

void Reader::Read(const std::string& text) {
  const absl::StatusOr<nlohmann::json> parsed = ParseTableJson(text);
  if (!parsed.ok()) {
    return problems_.Add("json", kTable, std::string(parsed.status().message()),
                         "a JSON object of the format, {\"version\": \"1.0\", \"status\": \"completed\", …}");
  }
  const nlohmann::json& json = *parsed;
  if (!ReadHead(json)) return;
  const nlohmann::json& servers = json["server_list"];
  const size_t in_head = report_.problems.size();
  // Collect the ranks of all entries first, so that a remedy never proposes a rank that a later entry has.
  for (const nlohmann::json& server : servers) {
    if (server.is_object() && server.contains("device")) UseNumbers(server["device"], "rank_id", free_ranks_);
  }
  for (size_t i = 0; i < servers.size(); ++i) ReadServer(servers[i], i);
  // Rules on several entries are only checked if each entry by itself could be read.
  if (report_.problems.size() > in_head) return;
  CheckWhole(json);
  if (problems_.none()) AddRemarks(json);
  report_.table.digest = absl::BytesToHexString(Sha256(text));
}

bool IsOneOf(const std::string& text, const std::vector<IpAddress>& addresses) {
  const std::optional<IpAddress> address = IpAddress::Parse(text);
  return address && std::find(addresses.begin(), addresses.end(), *address) != addresses.end();
}

}  // namespace

TableReport CheckRankTable(const std::string& text) {
  TableReport report;
  Reader(report).Read(text);
  return report;
}

absl::StatusOr<RankTable> ParseRankTable(const std::string& text, const std::string& name) {
  TableReport report = CheckRankTable(text);
  if (report.problems.empty()) return std::move(report.table);
  const TableProblem& first = report.problems.front();
  const size_t more = report.problems.size() - 1;
  const std::string message =
      absl::StrCat("rank table ", name, ": ", first.found, " (", first.entry, "; write ", first.remedy, ")",
                   more == 0 ? "" : absl::StrCat("; and ", more, " more: ms-ctl ranktable --check ", name));
  return first.rule == "status" ? absl::FailedPreconditionError(message) : absl::InvalidArgumentError(message);
}

absl::StatusOr<RankTable> LoadRankTable(const std::string& path) {
  if (path.size() > kMaxPath) {
    return absl::InvalidArgumentError(absl::StrCat("rank table (--rank_table_file): its path has ", path.size(),
                                                   " bytes; HCCL takes at most ", kMaxPath));
  }
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
    if (known.size() < kMaxNamed) known.push_back(server.server_id);
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
