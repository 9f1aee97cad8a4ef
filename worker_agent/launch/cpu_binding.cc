#include "worker_agent/launch/cpu_binding.h"

#include <sched.h>

#include <algorithm>
#include <cerrno>
#include <nlohmann/json.hpp>
#include <tuple>

#include "absl/status/status.h"
#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "common/file_io.h"
#include "common/limits.h"
#include "common/number_list.h"

namespace muster::agent {
namespace {

constexpr uint32_t kHighestCpu = 65535;
constexpr uint32_t kMostNumaNodes = 1024;
constexpr char kForm[] = "; expected auto, or CPUs for each local rank as in 0:0-3;1:4-7";

absl::Status Malformed(const std::string& text, const std::string& what) {
  return absl::InvalidArgumentError(absl::StrCat("--bind_core \"", text, "\": ", what, kForm));
}

absl::StatusOr<std::vector<int>> ParseCpus(const std::string& text) {
  const auto ranges = ParseNumberRanges(text, kHighestCpu);
  if (!ranges.ok()) return ranges.status();
  std::vector<int> cpus;
  for (const auto& [first, last] : *ranges) {
    for (uint32_t cpu = first; cpu <= last; ++cpu) cpus.push_back(static_cast<int>(cpu));
  }
  std::sort(cpus.begin(), cpus.end());
  cpus.erase(std::unique(cpus.begin(), cpus.end()), cpus.end());
  return cpus;
}

using CpusByRank = std::map<uint32_t, std::vector<int>>;

absl::Status AddRank(const std::string& rank_text, const std::string& cpus_text, CpusByRank& by_rank) {
  uint32_t rank = 0;
  if (!absl::SimpleAtoi(rank_text, &rank) || rank >= kMaxSlotsPerNode) {
    return absl::InvalidArgumentError(absl::StrCat("\"", rank_text, "\" is not a local rank"));
  }
  absl::StatusOr<std::vector<int>> cpus = ParseCpus(cpus_text);
  if (!cpus.ok()) return cpus.status();
  if (!by_rank.emplace(rank, *std::move(cpus)).second) {
    return absl::InvalidArgumentError(absl::StrCat("local rank ", rank, " is given twice"));
  }
  return absl::OkStatus();
}

// 0:0-3;1:4-7
absl::Status ParsePairs(const std::string& text, CpusByRank& by_rank) {
  for (const absl::string_view item : absl::StrSplit(text, ';')) {
    const std::string pair(absl::StripAsciiWhitespace(item));
    const size_t colon = pair.find(':');
    if (colon == std::string::npos) {
      return absl::InvalidArgumentError(absl::StrCat("\"", pair, "\" must be a local rank, a colon and CPUs"));
    }
    const absl::Status status = AddRank(pair.substr(0, colon), pair.substr(colon + 1), by_rank);
    if (!status.ok()) return status;
  }
  return absl::OkStatus();
}

// {"device0":["0-3"],"device1":["4-7","9"]}
absl::Status ParseJson(const std::string& text, CpusByRank& by_rank) {
  const nlohmann::json json = nlohmann::json::parse(text, nullptr, false);
  if (!json.is_object()) return absl::InvalidArgumentError("it is no JSON object");
  for (const auto& [name, list] : json.items()) {
    if (name.rfind("device", 0) != 0 || !list.is_array() || list.empty()) {
      return absl::InvalidArgumentError(absl::StrCat("\"", name, "\" must be deviceN with a list of CPU ranges"));
    }
    std::string cpus;
    for (const auto& range : list) {
      if (!range.is_string())
        return absl::InvalidArgumentError(absl::StrCat("the CPUs of \"", name, "\" must be texts"));
      absl::StrAppend(&cpus, cpus.empty() ? "" : ",", range.get_ref<const std::string&>());
    }
    const absl::Status status = AddRank(name.substr(6), cpus, by_rank);
    if (!status.ok()) return status;
  }
  return absl::OkStatus();
}

// The number that a sysfs list begins with ("0,32" → 0).
int FirstOfList(const std::string& path, int otherwise) {
  const absl::StatusOr<std::string> text = ReadSmallFile(path, 64 * 1024);
  if (!text.ok()) return otherwise;
  const auto ranges = ParseNumberRanges(*text, kHighestCpu);
  return ranges.ok() ? static_cast<int>(ranges->front().first) : otherwise;
}

std::map<int, uint32_t> NumaNodes(const std::string& sysfs) {
  std::map<int, uint32_t> node_of;
  const absl::StatusOr<std::string> online = ReadSmallFile(absl::StrCat(sysfs, "/node/online"), 4096);
  if (!online.ok()) return node_of;
  const auto nodes = ParseNumberRanges(*online, kMostNumaNodes);
  if (!nodes.ok()) return node_of;
  for (const auto& [first, last] : *nodes) {
    for (uint32_t node = first; node <= last; ++node) {
      const auto text = ReadSmallFile(absl::StrCat(sysfs, "/node/node", node, "/cpulist"), 64 * 1024);
      if (!text.ok()) continue;
      const auto cpus =
          ParseCpus(*text);  // a node with memory only has an empty list: an error here, and rightly skipped
      if (!cpus.ok()) continue;
      for (const int cpu : *cpus) node_of[cpu] = node;
    }
  }
  return node_of;
}

CpuChoice Share(uint32_t local_rank, uint32_t local_world_size, const std::vector<int>& cpus) {
  CpuChoice choice;
  const size_t count = cpus.size();
  if (count == 0) return choice;
  if (count < local_world_size) {
    choice.cpus = {cpus[local_rank % count]};
    choice.notice = absl::StrCat("--bind_core=auto: ", local_world_size, " processes share ", count,
                                 " CPUs on this machine, so some have one CPU together");
    return choice;
  }
  const size_t begin = local_rank * count / local_world_size;
  const size_t end = (local_rank + 1) * count / local_world_size;
  choice.cpus.assign(cpus.begin() + static_cast<std::ptrdiff_t>(begin),
                     cpus.begin() + static_cast<std::ptrdiff_t>(end));
  std::sort(choice.cpus.begin(), choice.cpus.end());
  return choice;
}

}  // namespace

std::vector<int> AllowedCpus() {
  std::vector<int> cpus;
  for (int capacity = 1024; capacity <= 65536; capacity *= 4) {
    cpu_set_t* set = CPU_ALLOC(static_cast<size_t>(capacity));
    if (set == nullptr) return cpus;
    const size_t size = CPU_ALLOC_SIZE(static_cast<size_t>(capacity));
    const int result = sched_getaffinity(0, size, set);
    const int error = errno;
    for (int cpu = 0; result == 0 && cpu < capacity; ++cpu) {
      if (CPU_ISSET_S(static_cast<size_t>(cpu), size, set)) cpus.push_back(cpu);
    }
    CPU_FREE(set);
    if (result == 0 || error != EINVAL) return cpus;  // EINVAL: the kernel's mask is larger
  }
  return cpus;
}

std::vector<int> InNumaOrder(std::vector<int> cpus, const std::string& sysfs) {
  const std::map<int, uint32_t> node_of = NumaNodes(sysfs);
  std::map<int, std::tuple<uint32_t, int, int>> key_of;
  for (const int cpu : cpus) {
    const auto node = node_of.find(cpu);
    const int core = FirstOfList(absl::StrCat(sysfs, "/cpu/cpu", cpu, "/topology/thread_siblings_list"), cpu);
    key_of[cpu] = {node == node_of.end() ? kMostNumaNodes : node->second, core, cpu};
  }
  std::sort(cpus.begin(), cpus.end(), [&key_of](int a, int b) { return key_of[a] < key_of[b]; });
  return cpus;
}

absl::StatusOr<CpuBinding> CpuBinding::Parse(const std::string& text) {
  const std::string trimmed(absl::StripAsciiWhitespace(text));
  const std::string word = absl::AsciiStrToLower(trimmed);
  CpuBinding binding;
  if (word.empty() || word == "false" || word == "0" || word == "none") return binding;
  if (word == "auto" || word == "true" || word == "1") {
    binding.kind_ = Kind::kAuto;
    return binding;
  }
  binding.kind_ = Kind::kExplicit;
  const absl::Status status =
      trimmed.front() == '{' ? ParseJson(trimmed, binding.by_local_rank_) : ParsePairs(trimmed, binding.by_local_rank_);
  if (!status.ok()) return Malformed(text, std::string(status.message()));
  return binding;
}

absl::StatusOr<CpuChoice> CpuBinding::Choose(uint32_t local_rank, uint32_t local_world_size,
                                             const std::vector<int>& ordered_cpus) const {
  if (kind_ == Kind::kOff) return CpuChoice();
  if (kind_ == Kind::kAuto) return Share(local_rank, local_world_size, ordered_cpus);
  const auto found = by_local_rank_.find(local_rank);
  if (found == by_local_rank_.end()) {
    return CpuChoice{{}, "--bind_core does not name every local rank of this machine; the others are not bound"};
  }
  for (const int cpu : found->second) {
    if (std::find(ordered_cpus.begin(), ordered_cpus.end(), cpu) == ordered_cpus.end()) {
      return absl::InvalidArgumentError(absl::StrCat("--bind_core gives CPU ", cpu, " to local rank ", local_rank,
                                                     ", but this process may not use it (see taskset -p, or the "
                                                     "container's cpuset)"));
    }
  }
  return CpuChoice{found->second, ""};
}

}  // namespace muster::agent
