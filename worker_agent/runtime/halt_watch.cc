#include "worker_agent/runtime/halt_watch.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "common/base/limits.h"
#include "common/sys/file_io.h"
#include "worker_agent/diagnostics/kernel_state.h"
#include "worker_agent/keeper/process/descendants.h"
#include "worker_agent/keeper/text.h"

namespace muster::agent {
namespace {

constexpr size_t kMaxLooked = 16;  // processes of one slot
constexpr size_t kMaxProcBytes = 4096;

// Returns 'T' or 'D'; 0: any other state.
char HaltingState(const ProcessInfo& process) {
  if (process.is_stopped) return 'T';
  return process.state == 'D' ? 'D' : 0;
}

// Returns the first process of the slot that is halted, the slot's own first; none: all may run.
std::optional<ProcessInfo> FindHalted(pid_t root) {
  std::vector<pid_t> to_look = {root};
  for (size_t i = 0; i < to_look.size() && i < kMaxLooked; ++i) {
    const std::optional<ProcessInfo> process = ReadProcess(to_look[i]);
    if (!process || process->is_dead) continue;
    if (HaltingState(*process) != 0) return process;
    if (IsPython(process->pid)) continue;  // its children are helpers: data loaders, compilers
    for (const pid_t child : ChildrenOf(process->pid)) to_look.push_back(child);
  }
  return std::nullopt;
}

// Returns how often the process has given up the processor; it changes whenever it has run.
std::string TurnsOf(pid_t pid) {
  return absl::StrCat(StatusRow(pid, "voluntary_ctxt_switches"), "/", StatusRow(pid, "nonvoluntary_ctxt_switches"));
}

}  // namespace

void HaltWatch::Watch(const ProcessKey& key, pid_t pid) {
  Watched watched;
  watched.pid = pid;
  watched_.insert_or_assign(key, std::move(watched));
}

std::vector<ProcessHalted> HaltWatch::Poll(MonotonicTime now) {
  std::vector<ProcessHalted> changes;
  for (auto& [key, watched] : watched_) {
    if (auto change = Look(key, watched, now)) changes.push_back(*std::move(change));
  }
  return changes;
}

std::optional<ProcessHalted> HaltWatch::Look(const ProcessKey& key, Watched& watched, MonotonicTime now) {
  const std::optional<ProcessInfo> halted = FindHalted(watched.pid);
  const char state = halted ? HaltingState(*halted) : 0;
  const std::string turns = halted ? TurnsOf(halted->pid) : "";
  const bool is_same = halted && halted->pid == watched.seen && state == watched.state && turns == watched.turns;
  if (!is_same) {
    const bool was_reported = watched.is_reported;
    watched = {watched.pid, halted ? halted->pid : 0, state, turns, now, false};
    if (!was_reported) return std::nullopt;
    ProcessHalted over;
    over.key = key;
    over.is_over = true;
    return over;
  }
  if (watched.is_reported || now - watched.since < (state == 'T' ? kStoppedPatience : kSleepPatience)) {
    return std::nullopt;
  }
  watched.is_reported = true;
  ProcessHalted report;
  report.key = key;
  report.pid = static_cast<uint64_t>(halted->pid);
  report.name = ShownName(*halted);
  report.state = std::string(1, state);
  const std::string channel = ReadSmallFile(absl::StrCat("/proc/", halted->pid, "/wchan"), kMaxProcBytes).value_or("");
  if (channel != "0") report.waits_in = CleanText(channel, kMaxStuckNameBytes);
  report.since = watched.since;
  return report;
}

}  // namespace muster::agent
