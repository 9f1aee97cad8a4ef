// The descendants of a process, read from /proc, and how to end all of them.
//
// A look scans the whole of /proc. /proc/<pid>/task/*/children would not do: it is exact only for our own single thread
// (see children.h), may miss children of other processes, and is not on every kernel.
//
// A scan is no snapshot. To end all descendants, repeat it until none is left: a process that one scan has missed
// becomes a child of the nearest child subreaper when its parent dies, and the next scan finds it.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <set>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/time/time.h"

namespace muster::agent {

struct ProcessInfo {
  pid_t pid = 0;
  pid_t parent = 0;
  pid_t group = 0;
  pid_t session = 0;
  bool is_dead = false;     // a zombie: waits to be reaped
  bool is_stopped = false;  // by a signal (SIGSTOP, SIGTSTP) or a debugger
  char state = '?';         // as in proc(5), of its main thread
  uint64_t start_time = 0;  // together with the pid it names this process and no later one
  std::string name;         // as it calls itself, at most 15 bytes
};

// Parses the content of /proc/<pid>/stat. The command in it may contain spaces and parentheses.
std::optional<ProcessInfo> ParseProcStat(std::string_view text);

// Returns nothing when there is no such process.
std::optional<ProcessInfo> ReadProcess(pid_t pid);

// Returns all descendants of `root`, without `root`; leaves out those in `spared` and their descendants. Nothing: /proc
// can't be read (no free descriptor, or not mounted), so any of them may be alive. Other users' processes may be hidden
// (the mount option hidepid).
std::optional<std::vector<ProcessInfo>> DescendantsOf(pid_t root, const std::set<pid_t>& spared);

// Returns the state of the main thread, as in proc(5). If the main thread has ended and others have not, returns the
// state of the first of the others: if that thread hangs in the kernel, its state shows it.
char StateOf(const ProcessInfo& process);

// Returns the process's name in a form that is safe to show: one line of clean text, at most kMaxStuckNameBytes.
std::string ShownName(const ProcessInfo& process);

// Returns the processes of the group that are not zombies. Nothing: /proc can't be read.
std::optional<std::vector<ProcessInfo>> LivingMembers(pid_t group);

// Returns true if a process that isn't a zombie is in the group, and also if that can't be found out.
bool HasLivingMember(pid_t group);

// Returns the value of a row of /proc/<pid>/status ("Uid", "CapEff", "NSpid"), with tabs between its words. Empty:
// there is no such row or no such process.
std::string StatusRow(pid_t pid, std::string_view name);

// Returns true if the process ignores the signal; false also if that can't be found out.
bool Ignores(pid_t pid, int signal);

// Sends `signal` if the pid still means the same process.
void SignalExactly(const ProcessInfo& process, int signal);

// Sends SIGKILL to every descendant of the calling process except `spared` and their descendants, and reaps them.
// Repeats this until none is left or `patience` is over (a process that hangs in a driver can't be killed). OK: none is
// left. The error says why that isn't certain. Blocks.
absl::Status KillDescendantsUntilNone(const std::set<pid_t>& spared, absl::Duration patience);

// Waits until no living descendant has that name, `patience` is over, or /proc can't be read. Blocks.
void WaitUntilNoneIsNamed(const std::string& name, absl::Duration patience);

}  // namespace muster::agent
