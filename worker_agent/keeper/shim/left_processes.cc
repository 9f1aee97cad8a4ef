// | a job of the background ends      | in the first second           | later    |
// |-----------------------------------|-------------------------------|----------|
// | with 0                            | well                          | well     |
// | with 1 … 128                      | failed                        | failed   |
// | with more (a shell's 128 + N)     | as by the signal N            | failed   |
// | by TERM, INT, HUP, PIPE or KILL   | well: the script has ended it | failed   |
// | by another signal                 | failed                        | failed   |
#include "worker_agent/keeper/shim/left_processes.h"

#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/base/exit_codes.h"
#include "common/base/exit_status.h"
#include "worker_agent/keeper/boottime.h"

namespace muster::agent {
namespace {

constexpr size_t kMostNamed = 5;
constexpr absl::Duration kEarly = absl::Seconds(1);  // after the process's end

bool EndsByOrder(int signal) {
  constexpr int kOrders[] = {SIGTERM, SIGINT, SIGHUP, SIGPIPE, SIGKILL};
  return std::find(std::begin(kOrders), std::end(kOrders), signal) != std::end(kOrders);
}

}  // namespace

std::optional<LeftProcesses> LookForLeft() {
  std::optional<std::vector<ProcessInfo>> found = DescendantsOf(::getpid(), {});
  if (!found.has_value()) return std::nullopt;
  LeftProcesses left;
  for (ProcessInfo& process : *found) {
    if (process.is_dead) continue;
    (process.session == ::getpid() ? left.jobs : left.daemons).push_back(std::move(process));
  }
  return left;
}

std::string NamesOf(const LeftProcesses& left) {
  std::string names;
  size_t count = 0;
  const auto add = [&](const std::vector<ProcessInfo>& processes, const char* where) {
    for (const ProcessInfo& process : processes) {
      if (++count > kMostNamed) continue;
      absl::StrAppend(&names, count == 1 ? "" : ", ", ShownName(process), " (", process.pid, where, ")");
    }
  };
  add(left.jobs, "");
  add(left.daemons, ", in a session of its own");
  if (count > kMostNamed) absl::StrAppend(&names, " and ", count - kMostNamed, " more");
  return names;
}

int WaitStatusOf(const siginfo_t& info) {
  return info.si_code == CLD_EXITED ? W_EXITCODE(info.si_status, 0)
                                    : W_EXITCODE(0, info.si_status) | (info.si_code == CLD_DUMPED ? WCOREFLAG : 0);
}

bool HasJobFailed(int wait_status, bool is_early) {
  const ExitStatus exit = ExitStatus::FromWaitStatus(wait_status);
  if (exit.IsSuccess()) return false;
  const int signal = exit.signal != 0 ? exit.signal : exit.code - kExitSignalBase;
  return !is_early || !EndsByOrder(signal);
}

void SignalLeft(pid_t group, int signal, bool lets_go_on) {
  // Among the descendants: the group's number may be another's once the group is gone.
  for (const ProcessInfo& process : DescendantsOf(::getpid(), {}).value_or(std::vector<ProcessInfo>())) {
    const bool is_meant = group != 0 ? process.group == group : process.session == ::getpid();
    if (!is_meant || process.is_dead) continue;
    SignalExactly(process, signal);
    if (lets_go_on) SignalExactly(process, SIGCONT);
  }
}

void BackgroundJobs::Begin(MonotonicTime ended_at) {
  ended_at_ = ended_at;
  for (const ProcessInfo& process : DescendantsOf(::getpid(), {}).value_or(std::vector<ProcessInfo>())) {
    if (process.parent == ::getpid() && process.session == ::getpid()) started_[process.pid] = process.is_dead;
  }
}

bool BackgroundJobs::NoteEnd(const siginfo_t& info) {
  const auto job = started_.find(info.si_pid);
  if (job == started_.end()) return false;
  const bool was_dead = job->second;
  started_.erase(job);
  const int status = WaitStatusOf(info);
  const std::optional<ProcessInfo> process = ReadProcess(info.si_pid);
  if (!process.has_value() || !HasJobFailed(status, BootTime() < ended_at_ + kEarly)) return false;
  if (!has_failed()) {
    const ExitStatus exit = ExitStatus::FromWaitStatus(status);
    failed_status_ = status;
    failure_ = absl::StrCat(
        ShownName(*process), " (", process->pid, ") ",
        exit.signal != 0 ? absl::StrCat("was killed by signal ", exit.signal) : absl::StrCat("ended with ", exit.code));
  }
  return !was_dead;
}

}  // namespace muster::agent
