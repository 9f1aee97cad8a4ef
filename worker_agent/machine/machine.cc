#include "worker_agent/machine/machine.h"

#include <dirent.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netinet/in.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <memory>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/escaping.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "common/base/limits.h"
#include "common/base/number_list.h"
#include "common/base/sha256.h"
#include "common/net/net.h"
#include "common/sys/file_io.h"
#include "common/sys/threads.h"

namespace muster::agent {
namespace {

constexpr char kBootIdPath[] = "/proc/sys/kernel/random/boot_id";
constexpr char kNamespacePath[] = "/proc/self/ns/net";
constexpr size_t kMachineHexDigits = 16;
constexpr size_t kMaxDeviceNumber = 4;
constexpr char kNvidia[] = "NVIDIA";

// Returns the numbers of the folder's entries that are named `prefix` and a number, such as davinci0. They are rising.
std::vector<uint32_t> Numbered(const std::string& folder, const std::string& prefix) {
  std::vector<uint32_t> numbers;
  DIR* dir = opendir(folder.c_str());
  if (dir == nullptr) return numbers;
  while (const dirent* entry = readdir(dir)) {
    absl::string_view name = entry->d_name;
    uint32_t number = 0;
    if (!absl::ConsumePrefix(&name, prefix) || name.empty() || name.size() > kMaxDeviceNumber) continue;
    const bool is_number =
        std::all_of(name.begin(), name.end(), [](unsigned char c) { return absl::ascii_isdigit(c); });
    if (is_number && absl::SimpleAtoi(name, &number) && number < kMaxSlotsPerNode) numbers.push_back(number);
  }
  closedir(dir);
  std::sort(numbers.begin(), numbers.end());
  return numbers;
}

// Returns the items of the variable's list. As in CUDA, the list ends before the first item that names no device: an
// empty one or a negative number. nullopt: the variable is not set.
std::optional<std::vector<std::string>> VisibleDevices(const std::map<std::string, std::string>& environment,
                                                       const std::string& variable) {
  const auto found = environment.find(variable);
  if (found == environment.end()) return std::nullopt;
  std::vector<std::string> visible;
  for (const auto& item : absl::StrSplit(found->second, ',')) {
    std::string text(absl::StripAsciiWhitespace(item));
    if (text.empty() || text.front() == '-' || visible.size() == kMaxSlotsPerNode) break;
    visible.push_back(std::move(text));
  }
  return visible;
}

// Returns the devices that the items of `visible` name, in that order. An item may be a range ("0-3"), as Ascend's
// variable allows. Empty if an item is no number.
std::vector<Device> Narrow(const std::vector<Device>& all, const std::vector<std::string>& visible) {
  std::vector<Device> list;
  for (const std::string& text : visible) {
    const auto ranges = ParseNumberRanges(text, kMaxSlotsPerNode - 1);
    if (!ranges.ok()) return {};  // a UUID, for example
    for (const Device& device : all) {
      const bool is_there =
          std::any_of(list.begin(), list.end(), [&](const Device& one) { return one.number == device.number; });
      if (is_there || !ranges->front().contains(device.index)) continue;
      list.push_back(device);
      list.back().position = static_cast<uint32_t>(list.size() - 1);
    }
  }
  return list;
}

// Returns nullopt if no device of this kind is visible.
std::optional<Devices> DevicesOfKind(const std::string& kind, const std::string& prefix, const std::string& folder,
                                     const std::map<std::string, std::string>& environment) {
  Devices devices;
  devices.kind = kind;
  for (const uint32_t number : Numbered(folder, prefix)) {
    const auto place = static_cast<uint32_t>(devices.list.size());
    const uint32_t index = kind == kNvidia ? place : number;
    devices.list.push_back({number, index, index});
  }
  devices.count = static_cast<uint32_t>(devices.list.size());
  if (const auto visible = VisibleDevices(environment, VisibleDevicesVariable(kind)); visible && devices.count > 0) {
    devices.list = Narrow(devices.list, *visible);
    const size_t named = devices.list.empty() ? visible->size() : devices.list.size();
    devices.count = std::min(devices.count, static_cast<uint32_t>(named));
  }
  if (devices.count == 0) return std::nullopt;
  return devices;
}

}  // namespace

std::string HashMachine(const std::string& boot_id, uint64_t namespace_device, uint64_t namespace_inode) {
  return absl::BytesToHexString(Sha256(absl::StrCat(boot_id, " ", namespace_device, ":", namespace_inode)))
      .substr(0, kMachineHexDigits);
}

absl::StatusOr<std::string> MachineId(const std::string& name) {
  if (!name.empty()) return absl::StrCat("name:", name);
  const absl::StatusOr<std::string> boot_id = ReadSmallFile(kBootIdPath, 256);
  if (!boot_id.ok()) {
    return absl::UnavailableError(
        absl::StrCat("this machine has no boot id (", boot_id.status().message(), "); name it with --machine NAME"));
  }
  struct stat info {};
  if (stat(kNamespacePath, &info) != 0) {
    return absl::UnavailableError(absl::StrCat("this process's network namespace is not known (", kNamespacePath, ": ",
                                               std::strerror(errno), "); name the machine with --machine NAME"));
  }
  return HashMachine(std::string(absl::StripAsciiWhitespace(*boot_id)), info.st_dev, info.st_ino);
}

Devices FindDevices(const std::string& device_folder, const std::map<std::string, std::string>& environment) {
  if (const auto ascend = DevicesOfKind("Ascend", "davinci", device_folder, environment)) return *ascend;
  if (const auto nvidia = DevicesOfKind(kNvidia, "nvidia", device_folder, environment)) return *nvidia;
  Devices cpu;
  cpu.kind = "CPU";
  return cpu;
}

std::string VisibleDevicesVariable(const std::string& kind) {
  if (kind == "Ascend") return "ASCEND_RT_VISIBLE_DEVICES";
  return kind == kNvidia ? "CUDA_VISIBLE_DEVICES" : "";
}

std::vector<InterfaceAddress> InterfaceAddresses() {
  std::vector<InterfaceAddress> addresses;
  ifaddrs* list = nullptr;
  if (getifaddrs(&list) != 0) return addresses;
  for (const ifaddrs* entry = list; entry != nullptr; entry = entry->ifa_next) {
    if (entry->ifa_addr == nullptr || (entry->ifa_flags & IFF_UP) == 0) continue;
    std::optional<IpAddress> address;
    if (entry->ifa_addr->sa_family == AF_INET) {
      const auto* v4 = reinterpret_cast<const sockaddr_in*>(entry->ifa_addr);
      address = IpAddress::FromBytes({reinterpret_cast<const char*>(&v4->sin_addr), 4});
    } else if (entry->ifa_addr->sa_family == AF_INET6) {
      const auto* v6 = reinterpret_cast<const sockaddr_in6*>(entry->ifa_addr);
      address = IpAddress::FromBytes({reinterpret_cast<const char*>(&v6->sin6_addr), 16});
    }
    if (address) addresses.push_back({entry->ifa_name, *address});
  }
  freeifaddrs(list);
  return addresses;
}

std::optional<std::vector<IpAddress>> ResolveOwnName(absl::Duration limit) {
  const absl::StatusOr<std::shared_ptr<SideThread>> thread = SideThread::Make("ms-own-name");
  if (!thread.ok()) return std::nullopt;
  const auto found = std::make_shared<std::optional<std::vector<IpAddress>>>();
  const bool is_done = (*thread)->Run(
      [found, name = LocalHostName()] {
        if (auto addresses = LookUpHost(name); addresses.ok()) *found = *std::move(addresses);
      },
      limit);
  return is_done ? *found : std::nullopt;
}

std::vector<IpAddress> LocalAddresses() {
  std::vector<IpAddress> addresses;
  for (const InterfaceAddress& one : InterfaceAddresses()) addresses.push_back(one.address);
  std::stable_partition(addresses.begin(), addresses.end(), [](const IpAddress& a) { return !a.is_loopback(); });
  return addresses;
}

}  // namespace muster::agent
