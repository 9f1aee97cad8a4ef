#include <sys/resource.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <sstream>
#include <system_error>

#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "common/sys/file_io.h"
#include "worker_agent/preflight/facts.h"

namespace muster::agent {
namespace {

constexpr size_t kMaxFileBytes = 64 * 1024;
constexpr size_t kMaxSocketBytes = 8 * 1024 * 1024;

std::optional<std::string> Read(const std::string& path, size_t most = kMaxFileBytes) {
  const absl::StatusOr<std::string> text = ReadSmallFile(path, most);
  if (!text.ok()) return std::nullopt;
  return std::string(absl::StripAsciiWhitespace(*text));
}

std::optional<uint64_t> ReadNumber(const std::string& path) {
  const std::optional<std::string> text = Read(path);
  uint64_t number = 0;
  if (!text || !absl::SimpleAtoi(*text, &number)) return std::nullopt;
  return number;
}

// Adds the ports with a listener, from a table like /proc/net/tcp. Returns false if it can't be read.
bool AddListening(const std::string& path, std::set<uint16_t>& ports) {
  const std::optional<std::string> text = Read(path, kMaxSocketBytes);
  if (!text) return false;
  std::istringstream lines(*text);
  for (std::string line; std::getline(lines, line);) {
    std::istringstream words(line);
    std::string number, local, remote, state;
    uint32_t port = 0;
    if (!(words >> number >> local >> remote >> state) || state != "0A") continue;
    const size_t colon = local.rfind(':');
    if (colon == std::string::npos || !absl::SimpleHexAtoi(local.substr(colon + 1), &port) || port > 65535) continue;
    ports.insert(static_cast<uint16_t>(port));
  }
  return true;
}

void ReadPorts(const HostRoots& roots, HostFacts& facts) {
  std::set<uint16_t> listening;
  if (AddListening(roots.proc + "/net/tcp", listening)) {
    AddListening(roots.proc + "/net/tcp6", listening);
    facts.listening = std::move(listening);
  }
  const std::string ipv4 = roots.proc + "/sys/net/ipv4/";
  if (const auto text = Read(ipv4 + "ip_local_port_range")) {
    std::istringstream words(*text);
    NumberRange range;
    if (words >> range.low >> range.high && range.low <= range.high) facts.ephemeral = range;
  }
  if (const auto text = Read(ipv4 + "ip_local_reserved_ports")) {
    const auto ranges = ParseNumberRanges(*text, 65535);
    if (text->empty()) {
      facts.reserved.emplace();
    } else if (ranges.ok()) {
      facts.reserved = *ranges;
    }
  }
  facts.somaxconn = ReadNumber(roots.proc + "/sys/net/core/somaxconn");
  facts.syn_backlog = ReadNumber(ipv4 + "tcp_max_syn_backlog");
}

std::optional<Space> SpaceAt(const std::string& what, const std::string& path) {
  struct statvfs info {};
  if (statvfs(path.c_str(), &info) != 0) return std::nullopt;
  return Space{what, path, uint64_t{info.f_bavail} * info.f_frsize, uint64_t{info.f_blocks} * info.f_frsize};
}

void ReadMemory(const HostRoots& roots, HostFacts& facts) {
  if (const auto text = Read(roots.proc + "/meminfo")) {
    for (const absl::string_view line : absl::StrSplit(*text, '\n')) {
      std::istringstream words{std::string(line)};
      std::string name;
      uint64_t kib = 0;
      if (words >> name >> kib && name == "MemAvailable:") facts.free_memory = kib * 1024;
    }
  }
  // A container sees the limit of its own control group at this place: version 2 of control groups, else version 1.
  const std::string groups = roots.sys + "/fs/cgroup";
  std::optional<uint64_t> limit = ReadNumber(groups + "/memory.max");
  if (!limit) limit = ReadNumber(groups + "/memory/memory.limit_in_bytes");
  if (limit && facts.free_memory) facts.free_memory = std::min(*facts.free_memory, *limit);
}

std::optional<uint64_t> HardLimit(int resource) {
  rlimit limit{};
  if (getrlimit(static_cast<__rlimit_resource>(resource), &limit) != 0) return std::nullopt;
  return limit.rlim_max == RLIM_INFINITY ? UINT64_MAX : uint64_t{limit.rlim_max};
}

}  // namespace

void ReadHost(const FactsRequest& request, HostFacts& facts) {
  const HostRoots& roots = request.search.roots;
  facts.wall_unix_ms = request.search.clock->Read().wall.unix_ms;
  ReadPorts(roots, facts);
  facts.nic = request.nic;
  if (!facts.nic.empty()) facts.mtu = ReadNumber(absl::StrCat(roots.sys, "/class/net/", facts.nic, "/mtu"));
  for (const auto& [what, path] : request.folders) {
    if (auto space = SpaceAt(what, path)) facts.spaces.push_back(*std::move(space));
  }
  facts.shared_memory = SpaceAt("/dev/shm", roots.dev + "/shm");
  ReadMemory(roots, facts);
  facts.open_files = HardLimit(RLIMIT_NOFILE);
  facts.tasks = geteuid() == 0 ? UINT64_MAX : HardLimit(RLIMIT_NPROC);  // the kernel does not limit root's processes
  facts.locked_memory = geteuid() == 0 ? UINT64_MAX : HardLimit(RLIMIT_MEMLOCK);
  std::error_code error;
  const std::filesystem::directory_iterator rdma(roots.sys + "/class/infiniband", error);
  facts.has_rdma = !error && rdma != std::filesystem::directory_iterator();
}

}  // namespace muster::agent
