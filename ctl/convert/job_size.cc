// The numbers that the line gives, and the size that follows from them:
//
//   nodes, processes of a node              all processes = nodes x processes of a node
//   all processes, processes of a node      as many nodes as the processes fill
//   hosts with slots, all processes         as many of the hosts as the processes fill
//   hosts with slots                        a process for each slot
//   hosts without slots, all processes      each host has the same number of processes; also with slots, if processes
//                                           are placed node by node (is_by_node)
//   hosts, processes of a node              this many processes on each host
//   more hosts than nodes                   only the first hosts
//   no nodes and no hosts                   one node
//   a variable such as $NNODES              the result has an expression, which the shell computes
#include "ctl/convert/job_size.h"

#include <algorithm>
#include <cstdint>

#include "absl/strings/str_cat.h"

namespace muster::ctl {
namespace {

constexpr char kUnequal[] = "hosts with unequal numbers of processes: write each node's own line";

std::string FillHosts(uint32_t processes, JobSize& size) {
  std::vector<HostSlots>& hosts = size.hosts;
  uint64_t sum = 0;
  size_t used = 0;
  while (used < hosts.size() && sum < processes) sum += hosts[used++].slots;
  hosts.resize(used);
  if (used == 1) hosts[0].slots = processes;
  const bool are_equal =
      std::all_of(hosts.begin(), hosts.end(), [&](const HostSlots& host) { return host.slots == hosts[0].slots; });
  if (!are_equal || (used > 1 && sum != processes)) return kUnequal;
  size.processes = Count{processes};
  size.per_node = Count{hosts[0].slots};
  return "";
}

std::string SettleHosts(JobSize& size) {
  std::vector<HostSlots>& hosts = size.hosts;
  if (size.nodes && !size.nodes->is_known())
    return "write the number of nodes as a number: with a list of hosts it can't be a variable";
  if (size.nodes && size.nodes->number < hosts.size()) hosts.resize(size.nodes->number);  // keep the first hosts
  const auto count = static_cast<uint32_t>(hosts.size());
  const std::string expression = hosts[0].expression;
  if (std::any_of(hosts.begin(), hosts.end(), [&](const HostSlots& h) { return h.expression != expression; })) {
    return kUnequal;
  }
  if (!expression.empty() && !size.per_node) size.per_node = Count{0, expression};
  const bool is_computed =
      (size.processes && !size.processes->is_known()) || (size.per_node && !size.per_node->is_known());
  const bool has_slots = std::any_of(hosts.begin(), hosts.end(), [](const HostSlots& host) { return host.slots != 0; });
  uint64_t all = 0;
  for (HostSlots& host : hosts) {
    if (size.per_node) host.slots = size.per_node->number;
    host.slots = std::max<uint32_t>(host.slots, 1);
    all += host.slots;
  }
  if (is_computed || size.is_auto) {
    size.nodes = Count{count};
    return "";
  }
  if (all > kMaxWorkers) return absl::StrCat("the hosts have ", all, " slots, but a job has at most ", kMaxWorkers);
  const bool is_even =
      size.processes && (size.processes->number > all || (!size.per_node && (!has_slots || size.is_by_node)));
  std::string error;
  if (!is_even) {
    error = FillHosts(size.processes ? size.processes->number : static_cast<uint32_t>(all), size);
  } else if (size.processes->number % count != 0) {
    error = kUnequal;
  } else {
    size.per_node = Count{size.processes->number / count};
  }
  size.nodes = Count{static_cast<uint32_t>(hosts.size())};
  return error;
}

void NoteHosts(const JobSize& size, std::vector<std::string>& notes) {
  if (size.hosts.size() > 1) {
    notes.emplace_back("start the line on each of these hosts: ms-worker starts nothing on other machines");
  } else if (size.names_hosts) {
    notes.push_back(absl::StrCat("all processes have room on ", size.hosts[0].name, ": start the line there only"));
  }
}

// Returns the number of nodes that the processes fill. An empty Count means several nodes, but their number is
// not known here.
Count NodesFor(const Count& processes, const Count& per_node) {
  if (processes.is_known() && per_node.is_known()) {
    return Count{(processes.number + per_node.number - 1) / per_node.number};
  }
  return processes.Text() == per_node.Text() ? Count{1} : Count{};
}

Count PerNodeFor(const Count& processes, const Count& nodes) {
  if (nodes.number == 1) return processes;
  if (processes.is_known() && nodes.is_known()) return Count{std::max<uint32_t>(processes.number / nodes.number, 1)};
  return Count{0, absl::StrCat("$((", processes.Text(), " / ", nodes.Text(), "))")};
}

}  // namespace

std::string SettleSize(const Launcher& launcher, JobSize& size, std::vector<std::string>& notes) {
  if (!size.hosts.empty()) {
    size.names_hosts = size.hosts.size() > 1;
    if (std::string error = SettleHosts(size); !error.empty()) return error;
    NoteHosts(size, notes);
  }
  const bool is_of_devices = launcher.processes == std::string("auto");
  size.is_auto |= is_of_devices && !size.per_node && !size.processes;
  if (!size.per_node && !size.is_auto) {
    if (!size.processes) size.per_node = Count::Of(launcher.processes);
    if (size.processes && launcher.name == std::string("msrun")) {
      size.per_node = Count{size.processes->is_known() ? std::min<uint32_t>(size.processes->number, 8) : 8};
    }
  }
  if (size.processes && size.per_node && !size.nodes) size.nodes = NodesFor(*size.processes, *size.per_node);
  if (!size.nodes) size.nodes = Count{1};
  if (size.processes && !size.per_node && !size.is_auto) size.per_node = PerNodeFor(*size.processes, *size.nodes);
  if (!size.processes && size.per_node) size.processes = Times(*size.nodes, *size.per_node);
  if (!size.processes && !size.is_auto) {
    return absl::StrCat("the line has no number of processes (", launcher.name, " ", launcher.asks, ")");
  }
  if (size.processes && size.processes->number > kMaxWorkers) {
    return absl::StrCat("the line asks for more than ", kMaxWorkers, " processes, and a job has at most that many");
  }
  const bool is_all_known = size.processes && size.per_node && size.processes->is_known() && size.per_node->is_known();
  if (is_all_known && size.per_node->number > size.processes->number) {
    return absl::StrCat("the line asks for ", size.per_node->number, " processes of a node, and for ",
                        size.processes->number, " in all: correct one of them");
  }
  if (is_all_known && size.nodes->is_known() &&
      uint64_t{size.nodes->number} * size.per_node->number != size.processes->number) {
    notes.push_back(absl::StrCat(size.processes->number, " processes are not ", size.nodes->number, " nodes times ",
                                 size.per_node->number, ": write --local_worker_num for each node"));
  }
  return "";
}

}  // namespace muster::ctl
