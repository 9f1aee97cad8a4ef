#include "scheduler/core/places/waiting.h"

#include <algorithm>
#include <map>
#include <set>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "common/base/ids.h"
#include "common/base/text.h"
#include "scheduler/core/places/admission.h"
#include "scheduler/core/places/older_journal.h"
#include "scheduler/core/places/other_jobs.h"

namespace muster::scheduler {
namespace {

// Returns the connected slots of each machine: "host-a: 4, host-b: 3". If two machines have the same name, adds their
// addresses.
std::string HostsHere(const Run& run) {
  struct Machine {
    std::string host, address;
    uint32_t slots = 0;
  };
  std::map<std::string, Machine> machines;
  std::map<std::string, std::set<std::string>> machines_of_host;
  for (const auto& [id, node] : run.nodes) {
    if (node.record().is_spare || node.stream == 0) continue;
    Machine& machine = machines[node.record().info.machine_id()];
    machine.host = node.record().info.host_name();
    machine.address = node.record().info.address();
    machine.slots += static_cast<uint32_t>(node.record().info.slots_size());
    machines_of_host[machine.host].insert(node.record().info.machine_id());
  }
  std::vector<std::pair<std::string, uint32_t>> named;
  for (const auto& [id, machine] : machines) {
    const bool is_shared = machines_of_host[machine.host].size() > 1;
    named.emplace_back(is_shared ? absl::StrCat(machine.host, " [", machine.address, "]") : machine.host,
                       machine.slots);
  }
  std::sort(named.begin(), named.end(), [](const auto& a, const auto& b) { return NaturalLess(a.first, b.first); });
  std::vector<std::string> hosts;
  for (const auto& [name, slots] : named) hosts.push_back(absl::StrCat(name, ": ", slots));
  return JoinSome(hosts);
}

std::string MissingIds(const Run& run) {
  const std::vector<uint32_t> missing = MissingNumbers(run);
  if (missing.empty()) return "";
  return absl::StrCat("missing node id", missing.size() == 1 ? "" : "s", ": ", FormatRanks(missing).substr(0, 200));
}

// Describes the nodes that were connected before and are not now.
std::string LastSeen(const Run& run, MonotonicTime now) {
  std::vector<std::string> seen;
  const auto add = [&](const std::string& id, const std::string& host, bool was_seen, MonotonicTime when) {
    seen.push_back(absl::StrCat(
        "node ", id, " (", host, ") was ",
        was_seen ? absl::StrCat("last seen ", FormatAge(now - when), " ago") : "not seen since the scheduler started"));
  };
  for (const auto& [id, node] : run.nodes) {
    if (!node.record().is_spare && node.stream == 0)
      add(id, node.record().info.host_name(), node.was_seen, node.last_seen);
  }
  for (const auto& [id, gone] : run.record().gone) {
    if (run.record().phase != v1::RUN_PHASE_FORMING) break;  // other nodes have their ranks by now
    if (gone.why == v1::NodeRemoved::LOST) {
      const auto [was_seen, last_seen] = run.RuntimeOfGone(id);
      add(id, gone.host_name, was_seen, last_seen);
    }
    if (gone.why == v1::NodeRemoved::LEFT) {
      seen.push_back(absl::StrCat("node ", id, " (", gone.host_name, ") has left: ", gone.reason));
    }
  }
  return JoinSome(seen);
}

// Describes the processes for which the next round must wait, except those of connected members.
std::string StaleProcesses(const Run& run, MonotonicTime now) {
  std::vector<std::string> stale;
  for (const auto& [id, node] : run.nodes) {
    if (node.must_quit && !run.IsRoundBehind() && node.record().quit_round < run.record().round) {
      stale.push_back(absl::StrCat("spare ", id, " has not ended its processes yet"));
    }
    if (run.record().phase == v1::RUN_PHASE_RECOVERING && node.IsBeingChecked(run.record().round)) {
      stale.push_back(absl::StrCat("node ", id, " runs its node check, since the failure may come from it"));
    }
    if (node.record().stale_incarnation == 0) continue;
    stale.push_back(absl::StrCat("the old processes of node ", id, " may still run", DescribeStaleEnd(node, now)));
  }
  for (const auto& [id, one] : run.unquit) {
    const std::string end = one.end.is_never()
                                ? absl::StrCat(" (`ms-ctl fence ", id, "` once they have certainly ended)")
                                : absl::StrCat(" for ", FormatAge(std::max(one.end - now, absl::ZeroDuration())));
    stale.push_back(absl::StrCat("the processes of spare ", id, ", which has left, may still run", end));
  }
  return JoinSome(stale);
}

}  // namespace

std::vector<uint32_t> MissingNumbers(const Run& run) {
  std::set<uint32_t> here;
  for (const auto& [id, node] : run.nodes) {
    const auto number = NumericId(id);
    if (node.record().is_spare) continue;
    if (!number || node.record().info.slots_size() != 1 || node.record().info.role() != v1::ROLE_WORKER) return {};
    if (node.record().info.has_node_rank() || node.record().info.table_ranks_size() > 0) return {};
    if (node.stream != 0) here.insert(*number);
  }
  if (here.empty() || run.record().settings.server_num() > 0 || run.record().settings.hccl_cm_init()) return {};
  std::vector<uint32_t> missing;
  for (uint32_t rank = 0; rank < run.record().settings.worker_num() && missing.size() < 4096; ++rank) {
    if (!here.contains(rank)) missing.push_back(rank);
  }
  return missing;
}

std::string DescribeStuck(const Node& node, MonotonicTime now) {
  std::vector<std::string> stuck;
  for (const StuckOnNode& one : node.stuck) {
    const std::string what =
        absl::StrCat("process ", one.pid, " (", one.name, ", state ", one.state, ") of ", NodeText(node));
    stuck.push_back(node.stream != 0 ? absl::StrCat(what, " has survived SIGKILL for ", FormatAge(now - one.since))
                                     : absl::StrCat(what, " had survived SIGKILL when its agent reported last"));
  }
  return JoinSome(stuck);
}

std::string DescribeStuck(const Run& run, MonotonicTime now) {
  std::vector<std::string> stuck;
  for (const auto& [id, node] : run.nodes) {
    if (!node.stuck.empty()) stuck.push_back(DescribeStuck(node, now));
  }
  return JoinSome(stuck);
}

std::string DescribeStaleEnd(const Node& node, MonotonicTime now) {
  if (!node.stale_end.is_never()) return absl::StrCat(" for ", FormatAge(node.stale_end - now));
  return absl::StrCat(" (", node.IsFenceUnguarded() ? "its fence is not guaranteed to have ended them: " : "",
                      node.heir_doubt.empty() ? "" : absl::StrCat("its next start says: ", node.heir_doubt, ": "),
                      "`ms-ctl fence ", node.record().id, "` once they have certainly ended)");
}

bool IsWaiting(const Run& run) {
  return run.record().phase == v1::RUN_PHASE_FORMING || run.record().phase == v1::RUN_PHASE_RECOVERING ||
         (run.IsUnderWay() && run.IsRoundBehind());
}

v1::WaitStatus DescribeWaiting(const Run& run, MonotonicTime now, std::string other_jobs) {
  v1::WaitStatus status;
  status.set_workers_here(CountConnectedSlots(run, v1::ROLE_WORKER));
  status.set_workers_needed(run.record().settings.worker_num());
  status.set_servers_here(CountConnectedSlots(run, v1::ROLE_SERVER));
  status.set_servers_needed(run.record().settings.server_num());
  std::vector<std::string> parts;
  if (std::string older = DescribeOlderJournal(run); !older.empty()) parts.push_back(std::move(older));
  std::string counts = "no node is here";  // if no node has set the number of workers
  if (run.record().settings.has_worker_num()) {
    counts = absl::StrCat(status.workers_here(), " of ", status.workers_needed(), " workers are here");
  }
  if (status.servers_needed() > 0) {
    absl::StrAppend(&counts, ", ", status.servers_here(), " of ", status.servers_needed(), " servers");
  }
  if (const std::string hosts = HostsHere(run); !hosts.empty()) absl::StrAppend(&counts, " (", hosts, ")");
  parts.push_back(std::move(counts));
  const auto spares =
      std::count_if(run.nodes.begin(), run.nodes.end(), [](const auto& n) { return n.second.record().is_spare; });
  if (spares > 0) parts.push_back(absl::StrCat(spares, spares == 1 ? " spare stands by" : " spares stand by"));
  for (std::string part : {MissingIds(run), LastSeen(run, now), DescribeStuck(run, now)}) {
    if (!part.empty()) parts.push_back(std::move(part));
  }
  if (std::string stale = StaleProcesses(run, now); !stale.empty()) parts.push_back(std::move(stale));
  if (!other_jobs.empty()) parts.push_back(std::move(other_jobs));
  if (run.record().phase == v1::RUN_PHASE_RECOVERING && now < run.restart_at) {
    parts.push_back(absl::StrCat("the next round starts in ", FormatAge(run.restart_at - now), " at the earliest"));
  }
  const MonotonicTime deadline =
      run.record().phase == v1::RUN_PHASE_RECOVERING ? run.rejoin_deadline : run.topo_deadline;
  if (deadline.is_never()) {
    status.set_time_left_ms(-1);
  } else {
    const absl::Duration left = std::max(deadline - now, absl::ZeroDuration());
    status.set_time_left_ms(absl::ToInt64Milliseconds(left));
    if (left > absl::ZeroDuration()) parts.push_back(absl::StrCat(FormatAge(left), " left"));
  }
  status.set_text(absl::StrJoin(parts, "; "));
  return status;
}

const v1::WaitStatus& WaitStatusOf(const State& state, const Run& run, MonotonicTime now) {
  auto& cache = run.waiting_cache;
  const bool is_good = cache.is_valid || (cache.status.has_value() && run.nodes.size() > kFewNodes);
  if (!is_good || now - cache.made >= absl::Seconds(1)) {
    cache.status = DescribeWaiting(run, now, DescribeOtherJobs(state, run, now));
    cache.made = now;
    cache.is_valid = true;
  }
  return *cache.status;
}

}  // namespace muster::scheduler
