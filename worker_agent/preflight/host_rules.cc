// check           warning or error (E) if                                             applies to
//
// clock           E: it shows a time before 2025                                      all
// job_ports       a port that the user chose is in use, or is not reserved            jobs that choose ports
// hccl_ports      E: one of HCCL's ports is in use, or of a range so many that fewer  HCCL
//                 are free than the node has processes; a warning if one is not
//                 reserved, or if a range has too few ports
// backlog         somaxconn or tcp_max_syn_backlog is below the job's processes       all
// mtu             below 1500                                                          nodes with a known interface
// space           under 1 GiB free; E: under 16 MiB                                   folders that are written to
// shared_memory   Docker's 64 MiB or less                                             all
// memory          under 512 MiB free for each process; E: under 32 MiB                all
// open_files      hard limit under 4,096                                              all
// processes       hard limit under 256 plus 128 for each process                      users except root
// locked_memory   a hard limit is set                                                 hosts with RDMA
#include <algorithm>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "common/base/text.h"
#include "worker_agent/preflight/rules.h"

namespace muster::agent {
namespace {

using v1::HostFinding;

constexpr int64_t kYear2025Ms = 1'735'689'600'000;
constexpr uint64_t kMiB = 1024 * 1024;
constexpr uint64_t kUsualMtu = 1500;
constexpr uint64_t kMaxTextBytes = 512;
constexpr uint64_t kMaxCheckBytes = 64;

std::string Cut(const std::string& whole) {
  std::string text = EscapeControl(whole);
  CutText(text, kMaxTextBytes);
  return text;
}

std::string MiB(uint64_t bytes) { return absl::StrCat(bytes / kMiB, " MiB"); }

HostFinding Unreadable(const std::string& check, const std::string& what) {
  return NotChecked(check, absl::StrCat(what, " can't be read"));
}

std::vector<uint32_t> Listening(const HostFacts& facts, const std::vector<uint32_t>& ports) {
  std::vector<uint32_t> taken;
  for (const uint32_t port : ports) {
    if (facts.listening->contains(static_cast<uint16_t>(port))) taken.push_back(port);
  }
  return taken;
}

// Returns those of the ports that the kernel may give to an outgoing connection, since they are not reserved.
std::vector<uint32_t> GivenAway(const HostFacts& facts, const std::vector<uint32_t>& ports) {
  std::vector<uint32_t> given;
  for (const uint32_t port : ports) {
    const bool is_reserved = std::any_of(facts.reserved->begin(), facts.reserved->end(),
                                         [&](const NumberRange& range) { return range.contains(port); });
    if (facts.ephemeral->contains(port) && !is_reserved) given.push_back(port);
  }
  return given;
}

std::string ReserveRemedy(const HostFacts& facts, const std::string& ports) {
  std::vector<std::string> all;
  for (const NumberRange& range : *facts.reserved) {
    all.push_back(range.low == range.high ? absl::StrCat(range.low) : absl::StrCat(range.low, "-", range.high));
  }
  all.push_back(ports);
  return absl::StrCat("sysctl -w net.ipv4.ip_local_reserved_ports=", absl::StrJoin(all, ","));
}

HostFinding JudgePorts(const HostFacts& facts, const std::string& check, const std::string& whose,
                       const std::vector<uint32_t>& ports, const std::string& shown, HostFinding::Level taken_level,
                       const std::string& others) {
  if (!facts.listening) return Unreadable(check, "/proc/net/tcp");
  if (!facts.ephemeral || !facts.reserved) return Unreadable(check, "net.ipv4.ip_local_reserved_ports");
  if (const std::vector<uint32_t> taken = Listening(facts, ports); !taken.empty()) {
    return MakeFinding(
        check, taken_level,
        absl::StrCat(whose, " ", absl::StrJoin(taken, ", "), ": a program listens there, but they should be free"),
        absl::StrCat("end what listens there (ss -ltnp), or ", others));
  }
  if (!GivenAway(facts, ports).empty()) {
    return MakeFinding(check, HostFinding::WARNING,
                       absl::StrCat(whose, " ", shown, "", ports.size() == 1 ? " is" : " are",
                                    " not reserved: any connection may get one"),
                       ReserveRemedy(facts, shown));
  }
  return Well(check, absl::StrCat(shown, " free and reserved"));
}

// Lists all ports of the ranges.
std::vector<uint32_t> ListPorts(const std::vector<NumberRange>& ranges) {
  std::vector<uint32_t> ports;
  for (const NumberRange& range : ranges) {
    for (uint32_t port = range.low; port <= range.high; ++port) ports.push_back(port);
  }
  return ports;
}

HostFinding JudgeHcclPorts(const HostFacts& facts, const HcclPorts& hccl) {
  const std::string variable = hccl.HostVariable();
  if (hccl.host.choice == PortChoice::kAuto) {
    return Well("hccl_ports", absl::StrCat("the system chooses them (", variable, "=auto)"));
  }
  if (hccl.host.choice == PortChoice::kPerProcess) {
    return NotChecked("hccl_ports", absl::StrCat(variable, " (--env) has a placeholder, so each process has its own"));
  }
  const std::vector<NumberRange> ranges = hccl.HostRanges();
  const bool is_range = hccl.host.choice == PortChoice::kRanges;
  const std::vector<uint32_t> ports = ListPorts(ranges);
  const uint64_t count = ports.size();
  // HCCL tries the ports of a range in turn, so some of them may be taken.
  const bool has_enough = is_range && facts.listening && count >= Listening(facts, ports).size() + facts.processes;
  const HostFinding finding =
      JudgePorts(facts, "hccl_ports", "HCCL's ports", ports, ShowPorts(ranges),
                 has_enough ? HostFinding::WARNING : HostFinding::ERROR,
                 absl::StrCat("set ", variable, " to others on all nodes", is_range ? ", or to auto" : ""));
  if (finding.level() == HostFinding::ERROR || !is_range || count >= facts.processes) return finding;
  return MakeFinding("hccl_ports", HostFinding::WARNING,
                     absl::StrCat(variable, " has ", count, count == 1 ? " port" : " ports",
                                  ", but each of the node's ", facts.processes, " processes may need one"),
                     absl::StrCat("set ", variable, " to ", facts.processes, " ports or more, or to auto"));
}

HostFinding JudgeClock(const HostFacts& facts) {
  if (facts.wall_unix_ms >= kYear2025Ms) return Well("clock", "set");
  return MakeFinding(
      "clock", HostFinding::ERROR,
      absl::StrCat("the clock is not set: it shows a time before 2025 (", facts.wall_unix_ms / 1000, ")"),
      "set it: timedatectl set-ntp true");
}

HostFinding JudgeBacklog(const HostFacts& facts) {
  if (!facts.somaxconn || !facts.syn_backlog) {
    return Unreadable("backlog", "net.core.somaxconn or net.ipv4.tcp_max_syn_backlog");
  }
  std::vector<std::string> low;
  std::vector<std::string> remedy;
  for (const auto& [name, value] :
       {std::pair{"net.core.somaxconn", *facts.somaxconn}, {"net.ipv4.tcp_max_syn_backlog", *facts.syn_backlog}}) {
    if (value >= facts.job_processes) continue;
    low.push_back(absl::StrCat(name, " is ", value));
    remedy.push_back(absl::StrCat("sysctl -w ", name, "=65535"));
  }
  if (low.empty()) return Well("backlog", absl::StrCat(*facts.somaxconn, " and ", *facts.syn_backlog));
  return MakeFinding("backlog", HostFinding::WARNING,
                     absl::StrCat(absl::StrJoin(low, ", "), ", but should be no less than the job's ",
                                  facts.job_processes, " processes, which all dial rank 0"),
                     absl::StrCat(absl::StrJoin(remedy, " && "), " (in the container, where there is one)"));
}

HostFinding JudgeMtu(const HostFacts& facts) {
  if (!facts.mtu) return Unreadable("mtu", absl::StrCat("the MTU of ", facts.nic));
  if (*facts.mtu >= kUsualMtu) return Well("mtu", absl::StrCat(facts.nic, ": ", *facts.mtu));
  return MakeFinding("mtu", HostFinding::WARNING,
                     absl::StrCat("the MTU of ", facts.nic, " is ", *facts.mtu, ", but should be 1500 or more"),
                     absl::StrCat("ip link set ", facts.nic, " mtu 1500"));
}

HostFinding JudgeSpace(const HostFacts& facts) {
  if (facts.spaces.empty()) return Unreadable("space", "the free space of the folders");
  const Space& least = *std::min_element(facts.spaces.begin(), facts.spaces.end(),
                                         [](const Space& a, const Space& b) { return a.free_bytes < b.free_bytes; });
  const std::string text = absl::StrCat(least.what, " ", least.path, " has ", MiB(least.free_bytes), " free");
  if (least.free_bytes >= 1024 * kMiB) return Well("space", text);
  return MakeFinding("space", least.free_bytes < 16 * kMiB ? HostFinding::ERROR : HostFinding::WARNING,
                     absl::StrCat(text, ", but should have 1024 MiB"),
                     absl::StrCat("make room: du -xsh ", least.path, "/*"));
}

HostFinding JudgeSharedMemory(const HostFacts& facts) {
  if (!facts.shared_memory) return Unreadable("shared_memory", "/dev/shm");
  const uint64_t total = facts.shared_memory->total_bytes;
  if (total > 64 * kMiB) return Well("shared_memory", MiB(total));
  return MakeFinding("shared_memory", HostFinding::WARNING,
                     absl::StrCat("/dev/shm has ", MiB(total), ", but data loaders need more"),
                     "start the container with --shm-size=16g or --ipc=host, or mount -o remount,size=16g /dev/shm");
}

HostFinding JudgeMemory(const HostFacts& facts) {
  if (!facts.free_memory) return Unreadable("memory", "/proc/meminfo");
  const std::string text = absl::StrCat(MiB(*facts.free_memory), " are free for ", facts.processes,
                                        facts.processes == 1 ? " process" : " processes");
  const uint64_t each = *facts.free_memory / std::max(facts.processes, 1U);
  if (each >= 512 * kMiB) return Well("memory", text);
  return MakeFinding("memory", each < 32 * kMiB ? HostFinding::ERROR : HostFinding::WARNING,
                     absl::StrCat(text, ", but each should have 512 MiB"),
                     "end what uses it (ps aux --sort -rss), or raise the container's limit (--memory)");
}

HostFinding JudgeLimit(const std::string& check, const std::string& flag, const std::optional<uint64_t>& limit,
                       uint64_t wanted) {
  if (!limit) return Unreadable(check, absl::StrCat("ulimit ", flag));
  if (*limit == UINT64_MAX) return Well(check, "no limit");
  if (*limit >= wanted) return Well(check, absl::StrCat(*limit));
  const std::string should = wanted == UINT64_MAX ? "unlimited" : absl::StrCat(wanted);
  return MakeFinding(check, HostFinding::WARNING,
                     absl::StrCat("the hard limit (ulimit -H", flag.substr(1), ") is ", *limit, ", but should be ",
                                  should, wanted == UINT64_MAX ? "" : " or more"),
                     absl::StrCat("raise it in /etc/security/limits.conf, or start the container with --ulimit"));
}

}  // namespace

HostFinding MakeFinding(const std::string& check, HostFinding::Level level, const std::string& text,
                        const std::string& remedy) {
  HostFinding finding;
  finding.set_check(check.substr(0, kMaxCheckBytes));
  finding.set_level(level);
  finding.set_text(Cut(text));
  finding.set_remedy(Cut(remedy));
  return finding;
}

HostFinding Well(const std::string& check, const std::string& text) {
  return MakeFinding(check, HostFinding::OK, text);
}

HostFinding NotChecked(const std::string& check, const std::string& why) {
  return MakeFinding(check, HostFinding::NOT_CHECKED, why);
}

std::vector<HostFinding> JudgeHost(const HostFacts& facts) {
  std::vector<HostFinding> findings{JudgeClock(facts)};
  if (!facts.job_ports.empty()) {
    const std::vector<uint32_t> ports(facts.job_ports.begin(), facts.job_ports.end());
    findings.push_back(JudgePorts(facts, "job_ports", ports.size() == 1 ? "the job's port" : "the job's ports", ports,
                                  absl::StrJoin(ports, ","), HostFinding::WARNING, "choose others on all nodes"));
  }
  if (facts.hccl_ports) findings.push_back(JudgeHcclPorts(facts, *facts.hccl_ports));
  findings.push_back(JudgeBacklog(facts));
  if (!facts.nic.empty()) findings.push_back(JudgeMtu(facts));
  findings.push_back(JudgeSpace(facts));
  findings.push_back(JudgeSharedMemory(facts));
  findings.push_back(JudgeMemory(facts));
  findings.push_back(JudgeLimit("open_files", "-n", facts.open_files, 4096));
  findings.push_back(JudgeLimit("processes", "-u", facts.tasks, 256 + uint64_t{128} * facts.processes));
  if (facts.has_rdma) findings.push_back(JudgeLimit("locked_memory", "-l", facts.locked_memory, UINT64_MAX));
  return findings;
}

}  // namespace muster::agent
