#include "worker_agent/node/machine.h"

#include <dirent.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netinet/in.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <memory>

#include "absl/strings/ascii.h"
#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "common/base/sha256.h"
#include "common/net/net.h"
#include "common/sys/file_io.h"
#include "common/sys/threads.h"

namespace muster::agent {
namespace {

constexpr char kBootIdPath[] = "/proc/sys/kernel/random/boot_id";
constexpr char kNamespacePath[] = "/proc/self/ns/net";
constexpr size_t kMachineHexDigits = 16;

// How many entries of the folder are `prefix` and a number.
uint32_t CountNumbered(const std::string& folder, const std::string& prefix) {
  DIR* dir = opendir(folder.c_str());
  if (dir == nullptr) return 0;
  uint32_t count = 0;
  while (const dirent* entry = readdir(dir)) {
    const std::string name = entry->d_name;
    if (name.size() <= prefix.size() || name.compare(0, prefix.size(), prefix) != 0) continue;
    const bool is_number = std::all_of(name.begin() + static_cast<std::ptrdiff_t>(prefix.size()), name.end(),
                                       [](char c) { return absl::ascii_isdigit(static_cast<unsigned char>(c)); });
    if (is_number) ++count;
  }
  closedir(dir);
  return count;
}

// `count`, or the length of the variable's list when that is shorter. As in CUDA, the list ends at a negative number.
uint32_t Narrow(uint32_t count, const std::map<std::string, std::string>& environment, const std::string& variable) {
  const auto found = environment.find(variable);
  if (found == environment.end()) return count;
  uint32_t visible = 0;
  for (const auto& item : absl::StrSplit(found->second, ',')) {
    const std::string text(absl::StripAsciiWhitespace(item));
    if (text.empty() || text.front() == '-') break;
    ++visible;
  }
  return std::min(count, visible);
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
  if (const uint32_t ascend =
          Narrow(CountNumbered(device_folder, "davinci"), environment, "ASCEND_RT_VISIBLE_DEVICES")) {
    return {"Ascend", ascend};
  }
  if (const uint32_t nvidia = Narrow(CountNumbered(device_folder, "nvidia"), environment, "CUDA_VISIBLE_DEVICES")) {
    return {"NVIDIA", nvidia};
  }
  return {"CPU", 1};
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
        if (auto addresses = ResolveHost(name); addresses.ok()) *found = *std::move(addresses);
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
