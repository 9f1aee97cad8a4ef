// The sources of a slot's device; the first row that fits applies:
//
//   the slot has one already         that one: from --devices, or from the first devices that are visible
//   --device_ips 4=ADDRESS,…         device 4, …, in the order of the slots
//   otherwise                        the slot's number: 0, 1, …
//
// Where the device's address comes from, with --hccl_mode table only:
//
//   --device_ips                     in the order of the slots, or by the device's number where an item names one
//   /etc/hccn.conf has address_N     its value
//   hccn_tool -i N -ip -g            its output; one call at a time
//   otherwise                        unknown, with a warning: only a job of one server can do without
//
// As root, this uses no file and no program that other users can change.
#include "worker_agent/ascend/device_addresses.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <set>
#include <system_error>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "common/base/text.h"
#include "common/net/address_rules.h"
#include "common/net/ip_address.h"
#include "common/sys/child/bounded_command.h"
#include "common/sys/file_io.h"
#include "worker_agent/settings/device_words.h"

namespace muster::agent {
namespace {

constexpr size_t kMaxConfBytes = 256 * 1024;
constexpr size_t kMaxToolBytes = 4096;
constexpr uint32_t kHighestDevice = 65535;
constexpr char kTool[] = "hccn_tool";
constexpr char kDriverTools[] = "/usr/local/Ascend/driver/tools";

std::string AddressOrNothing(absl::string_view text) {
  const auto address = IpAddress::Parse(std::string(absl::StripAsciiWhitespace(text)));
  return address && !address->is_any() && !IsLinkLocal(*address) ? address->ToString() : "";
}

// Always true for an ordinary user. For root: true if only root can change the file and the folders above it.
bool IsTrusted(const std::string& path) {
  if (geteuid() != 0) return true;
  const PathParts parts = SplitPath(path);
  const absl::StatusOr<UniqueFd> folder = OpenFolder(parts.folder, {FolderTrust::kTrusted});
  struct stat info {};
  return folder.ok() && fstatat(folder->get(), parts.name.c_str(), &info, AT_SYMLINK_NOFOLLOW) == 0 &&
         S_ISREG(info.st_mode) && info.st_uid == 0 && (info.st_mode & 022) == 0;
}

// The known addresses of this node's devices, by device number, and the reasons why some are missing.
struct Found {
  std::map<uint32_t, std::string> addresses;
  std::vector<std::string> reasons;
};

std::string Untrusted(const std::string& path) {
  return absl::StrCat(path, " is not used: users other than root can change it");
}

void ReadConf(const DeviceSearch& search, Found& found) {
  const absl::StatusOr<std::string> text = ReadHccnConf(search);
  if (!text.ok()) return found.reasons.push_back(std::string(text.status().message()));
  found.addresses = ParseHccnConf(*text);
}

void AskTool(const DeviceSearch& search, const std::set<uint32_t>& wanted, Found& found) {
  const std::string tool = FindHccnTool(search, found.reasons);
  if (tool.empty()) return;
  const MonotonicTime give_up = search.clock->Read().monotonic + search.whole_limit;
  for (const uint32_t device : wanted) {
    if (found.addresses.contains(device)) continue;
    const MonotonicTime now = search.clock->Read().monotonic;
    if (now >= give_up) return found.reasons.push_back(absl::StrCat(kTool, " took too long"));
    const CommandResult result = RunBounded({{tool, "-i", absl::StrCat(device), "-ip", "-g"},
                                             {absl::StrCat("PATH=", search.search_path)},
                                             kMaxToolBytes,
                                             std::min(now + search.call_limit, give_up)},
                                            *search.clock);
    const std::string address =
        result.end == CommandResult::End::kExited && result.code == 0 ? ParseHccnTool(result.output) : "";
    if (!address.empty()) {
      found.addresses[device] = address;
    } else if (result.end == CommandResult::End::kTimedOut) {
      found.reasons.push_back(absl::StrCat(kTool, " -i ", device, " -ip -g has not answered"));
    } else {
      found.reasons.push_back(absl::StrCat(kTool, " -i ", device, " -ip -g says ",
                                           Quoted(result.output.empty() ? result.errors : result.output)));
    }
  }
}

absl::Status CheckCount(const char* setting, size_t count, const v1::NodeInfo& node) {
  if (count == static_cast<size_t>(node.slots_size())) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat("--", setting, " has ", count, " items, but this node runs ",
                                                 node.slots_size(),
                                                 " processes (--local_worker_num): give one for each"));
}

// Adds the addresses of --device_ips to `found`. A slot without a device gets the device that its item names, else the
// one whose number is the item's place in the list.
absl::Status TakeDeviceIps(const AgentSettings& settings, v1::NodeInfo& node, Found& found) {
  const auto given = ParseDeviceAddresses(settings.device_ips);
  if (!given.ok()) return given.status();  // the settings have been checked
  if (absl::Status status = CheckCount("device_ips", given->size(), node); !status.ok()) return status;
  for (size_t i = 0; i < given->size(); ++i) {
    v1::SlotOffer& slot = *node.mutable_slots(static_cast<int>(i));
    const DeviceAddress& device = (*given)[i];
    if (slot.device_id().empty()) slot.set_device_id(absl::StrCat(device.device_id.value_or(static_cast<uint32_t>(i))));
    uint32_t id = 0;
    if (absl::SimpleAtoi(slot.device_id(), &id)) found.addresses[device.device_id.value_or(id)] = device.address;
  }
  return absl::OkStatus();
}

absl::Status AddSuperPod(const AgentSettings& settings, v1::NodeInfo& node) {
  node.set_super_pod(settings.super_pod);
  if (settings.super_device_ids.empty()) return absl::OkStatus();
  const auto ids = ParseSuperDeviceIds(settings.super_device_ids);
  if (!ids.ok()) return ids.status();
  if (absl::Status status = CheckCount("super_device_ids", ids->size(), node); !status.ok()) return status;
  for (size_t i = 0; i < ids->size(); ++i) {
    node.mutable_slots(static_cast<int>(i))->set_super_device_id(absl::StrCat((*ids)[i]));
  }
  return absl::OkStatus();
}

std::string NotKnown(const std::vector<std::string>& devices, const Found& found) {
  return absl::StrCat("the network addresses of ", devices.size() == 1 ? "device " : "devices ",
                      absl::StrJoin(devices, ", "), " are not known (", absl::StrJoin(found.reasons, "; "),
                      "); with more than one server the rank table needs them: give --device_ips");
}

}  // namespace

std::string FindHccnTool(const DeviceSearch& search, std::vector<std::string>& reasons) {
  std::vector<std::string> folders = {search.roots.tools};
  if (search.roots.tools.empty()) {
    folders = absl::StrSplit(search.search_path, ':');
    folders.emplace_back(kDriverTools);
  }
  const size_t before = reasons.size();
  for (const std::string& folder : folders) {
    if (!absl::StartsWith(folder, "/")) continue;
    std::error_code error;
    const std::string path = std::filesystem::canonical(folder + "/" + kTool, error).string();
    if (error || access(path.c_str(), X_OK) != 0) continue;
    if (IsTrusted(path)) return path;
    reasons.push_back(Untrusted(path));
  }
  if (reasons.size() == before) reasons.push_back(absl::StrCat(kTool, " is not installed"));
  return "";
}

absl::StatusOr<std::string> ReadHccnConf(const DeviceSearch& search) {
  const std::string path = search.roots.etc + "/hccn.conf";
  if (access(path.c_str(), F_OK) != 0 && errno == ENOENT) {
    return absl::NotFoundError(absl::StrCat("there is no ", path));
  }
  if (!IsTrusted(path)) return absl::PermissionDeniedError(Untrusted(path));
  return ReadSmallFile(path, kMaxConfBytes);
}

std::map<uint32_t, std::string> ParseHccnConf(const std::string& text) {
  std::map<uint32_t, std::string> addresses;
  for (absl::string_view line : absl::StrSplit(text, '\n')) {
    line = absl::StripAsciiWhitespace(line);
    const size_t equals = line.find('=');
    if (!absl::StartsWith(line, "address_") || equals == absl::string_view::npos) continue;
    const absl::string_view number = absl::StripAsciiWhitespace(line.substr(8, equals - 8));
    uint32_t device = 0;
    const bool is_number = !number.empty() && number.find_first_not_of("0123456789") == absl::string_view::npos;
    if (!is_number || !absl::SimpleAtoi(number, &device) || device > kHighestDevice) continue;
    const std::string address = AddressOrNothing(line.substr(equals + 1));
    if (!address.empty()) addresses[device] = address;
  }
  return addresses;
}

std::string ParseHccnTool(const std::string& output) {
  for (absl::string_view line : absl::StrSplit(output, '\n')) {
    line = absl::StripAsciiWhitespace(line);
    if (absl::StartsWith(line, "ipaddr:")) return AddressOrNothing(line.substr(7));
  }
  return "";
}

absl::Status AddDevices(const AgentSettings& settings, const DeviceSearch& search, v1::NodeInfo& node,
                        std::vector<std::string>& warnings) {
  Found found;
  if (!settings.device_ips.empty()) {
    if (absl::Status status = TakeDeviceIps(settings, node, found); !status.ok()) return status;
  }
  std::set<uint32_t> wanted;
  for (int i = 0; i < node.slots_size(); ++i) {
    v1::SlotOffer& slot = *node.mutable_slots(i);
    if (slot.device_id().empty()) slot.set_device_id(absl::StrCat(i));
    uint32_t id = 0;
    if (absl::SimpleAtoi(slot.device_id(), &id)) wanted.insert(id);
  }
  if (settings.hccl_mode != "table") return absl::OkStatus();
  if (settings.device_ips.empty()) {
    ReadConf(search, found);
    for (const uint32_t device : wanted) {
      if (found.addresses.contains(device)) continue;
      if (!found.addresses.empty()) {
        found.reasons.push_back(absl::StrCat(search.roots.etc, "/hccn.conf has no address_", device));
      }
      AskTool(search, wanted, found);
      break;
    }
  }
  std::vector<std::string> missing;
  for (v1::SlotOffer& slot : *node.mutable_slots()) {
    uint32_t id = 0;
    const bool is_number = absl::SimpleAtoi(slot.device_id(), &id);
    const auto address = is_number ? found.addresses.find(id) : found.addresses.end();
    if (address == found.addresses.end()) {
      missing.push_back(slot.device_id());
    } else {
      slot.set_device_address(address->second);
    }
  }
  if (!missing.empty()) warnings.push_back(NotKnown(missing, found));
  return AddSuperPod(settings, node);
}

}  // namespace muster::agent
