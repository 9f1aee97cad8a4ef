#include "worker_agent/devices/device_cpus.h"

#include <dirent.h>

#include <algorithm>
#include <optional>

#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "common/base/number_list.h"
#include "common/sys/file_io.h"
#include "worker_agent/devices/kernel_log.h"

namespace muster::agent {
namespace {

constexpr size_t kMaxEntries = 4096;
constexpr size_t kMaxText = 64 * 1024;
constexpr int kHighestNode = 1023;

std::vector<std::string> EntriesOf(const std::string& folder) {
  std::vector<std::string> names;
  DIR* dir = opendir(folder.c_str());
  if (dir == nullptr) return names;
  while (const dirent* entry = readdir(dir)) {
    if (entry->d_name[0] != '.' && names.size() < kMaxEntries) names.emplace_back(entry->d_name);
  }
  closedir(dir);
  std::sort(names.begin(), names.end());
  return names;
}

// Returns the number of a NUMA node from a file; nullopt: unknown. On a machine with one node the file contains -1.
std::optional<int> ReadNode(const std::string& path) {
  const absl::StatusOr<std::string> text = ReadSmallFile(path, kMaxText);
  int node = 0;
  if (!text.ok() || !absl::SimpleAtoi(absl::StripAsciiWhitespace(*text), &node)) return std::nullopt;
  if (node < 0 || node > kHighestNode) return std::nullopt;
  return node;
}

std::optional<int> NodeByClass(const std::string& name, const HostRoots& roots) {
  const std::string classes = roots.sys + "/class";
  for (const std::string& one : EntriesOf(classes)) {
    if (const auto node = ReadNode(absl::StrCat(classes, "/", one, "/", name, "/device/numa_node"))) return node;
  }
  return std::nullopt;
}

std::optional<int> NodeOfNvidia(uint32_t number, const HostRoots& roots) {
  for (const auto& [address, minor] : NvidiaDevicesByAddress(roots)) {
    if (minor == number) return ReadNode(absl::StrCat(roots.sys, "/bus/pci/devices/", address, ".0/numa_node"));
  }
  return std::nullopt;
}

}  // namespace

std::vector<int> CpusOfDevice(const std::string& kind, uint32_t number, const HostRoots& roots) {
  std::optional<int> node = NodeByClass(absl::StrCat(kind == "Ascend" ? "davinci" : "nvidia", number), roots);
  if (!node && kind == "NVIDIA") node = NodeOfNvidia(number, roots);
  std::vector<int> cpus;
  if (!node) return cpus;
  const auto text = ReadSmallFile(absl::StrCat(roots.sys, "/devices/system/node/node", *node, "/cpulist"), kMaxText);
  if (!text.ok()) return cpus;
  const auto ranges = ParseNumberRanges(*text, kHighestCpu);
  if (!ranges.ok()) return cpus;
  for (const NumberRange& range : *ranges) {
    for (uint32_t cpu = range.low; cpu <= range.high; ++cpu) cpus.push_back(static_cast<int>(cpu));
  }
  std::sort(cpus.begin(), cpus.end());
  cpus.erase(std::unique(cpus.begin(), cpus.end()), cpus.end());
  return cpus;
}

}  // namespace muster::agent
