// The descendants of a process, read from /proc, and how to end all of them.
//
// The whole of /proc is scanned: /proc/<pid>/task/*/children is exact only for our own single thread (see children.h);
// of other processes it may miss some, and not every kernel has it. A scan is no snapshot: to end all, repeat it until
// none is left; a process that escapes one scan is reparented to the nearest child subreaper, and the next one sees it.
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
  uint64_t start_time = 0;  // with the pid: names this process and no later one
  std::string name;         // as it calls itself, at most 15 bytes
};

// The content of /proc/<pid>/stat. The command in it may contain spaces and parentheses.
std::optional<ProcessInfo> ParseProcStat(std::string_view text);

// Returns nothing when there is no such process.
std::optional<ProcessInfo> ReadProcess(pid_t pid);

// Returns all descendants of `root` without `root`; those in `spared` and their descendants are left out. Nothing when
// /proc can't be read (no descriptor, not mounted): then any may be alive. Another user's processes may be hidden
// (hidepid).
std::optional<std::vector<ProcessInfo>> DescendantsOf(pid_t root, const std::set<pid_t>& spared);

// Returns the state as in proc(5). Where the main thread has ended and others have not, that of the first of these: one
// that hangs in the kernel shows what the process waits for.
char StateOf(const ProcessInfo& process);

// Returns its name as it may be shown anywhere: one line of clean text, at most kMaxStuckNameBytes.
std::string ShownName(const ProcessInfo& process);

// Returns the group's processes without its zombies. Nothing when /proc can't be read.
std::optional<std::vector<ProcessInfo>> LivingMembers(pid_t group);

// True if a process that isn't a zombie is in the group; also when that can't be read.
bool HasLivingMember(pid_t group);

// Returns the value of a row of /proc/<pid>/status ("Uid", "CapEff", "NSpid"), with tabs between its words; empty:
// there is none, or no such process.
std::string StatusRow(pid_t pid, std::string_view name);

// True if the process ignores the signal; false when that can't be read.
bool Ignores(pid_t pid, int signal);

// Sends `signal` if the pid still means the same process.
void SignalExactly(const ProcessInfo& process, int signal);

// Sends SIGKILL to every descendant of the calling process except `spared` and their descendants, and reaps them, until
// none is left or `patience` is over (a process that hangs in a driver can't be killed). OK when none is left, else why
// that isn't certain. Blocks.
absl::Status KillDescendantsUntilNone(const std::set<pid_t>& spared, absl::Duration patience);

// Waits until no living descendant has that name, or `patience` is over, or it can't look. Blocks.
void WaitUntilNoneIsNamed(const std::string& name, absl::Duration patience);

}  // namespace muster::agent
