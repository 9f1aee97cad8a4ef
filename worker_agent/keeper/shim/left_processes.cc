// | a background job ends             | in the first second           | later    |
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
#include <cerrno>
#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/base/exit_codes.h"
#include "common/base/exit_status.h"
#include "worker_agent/keeper/boottime.h"

namespace muster::agent {
namespace {

constexpr size_t kMaxNamed = 5;
// A job that ends within this time after the process's end is early.
constexpr absl::Duration kEarly = absl::Seconds(1);

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
      if (++count > kMaxNamed) continue;
      absl::StrAppend(&names, count == 1 ? "" : ", ", ShownName(process), " (", process.pid, where, ")");
    }
  };
  add(left.jobs, "");
  add(left.daemons, ", in a session of its own");
  if (count > kMaxNamed) absl::StrAppend(&names, " and ", count - kMaxNamed, " more");
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

namespace {

// Signals the groups of the shim's children. While a child is not reaped, its group's number can't mean another group.
void SignalGroupsOfChildren(Children& children, pid_t group, int signal, bool lets_go_on) {
  std::set<pid_t> groups;
  children.ForEach([&](pid_t child) {
    const pid_t of_child = ::getpgid(child);
    if (of_child > 0 && (group != 0 ? of_child == group : ::getsid(child) == ::getpid())) groups.insert(of_child);
  });
  groups.erase(::getpgrp());
  for (const pid_t meant : groups) {
    ::kill(-meant, signal);
    if (lets_go_on) ::kill(-meant, SIGCONT);
  }
}

bool HasDied(pid_t child) {
  siginfo_t info{};
  return ::waitid(P_PID, static_cast<id_t>(child), &info, WEXITED | WNOHANG | WNOWAIT) == 0 && info.si_pid == child;
}

}  // namespace

bool SignalLeft(Children& children, pid_t group, int signal, bool lets_go_on) {
  const std::optional<std::vector<ProcessInfo>> found = DescendantsOf(::getpid(), {});
  if (!found.has_value()) {
    const int error = errno;
    SignalGroupsOfChildren(children, group, signal, lets_go_on);
    errno = error;
    return false;
  }
  // Signals the members that are descendants, not the group as a whole: once the group is gone, its number may mean
  // another.
  for (const ProcessInfo& process : *found) {
    const bool is_meant = group != 0 ? process.group == group : process.session == ::getpid();
    if (!is_meant || process.is_dead) continue;
    SignalExactly(process, signal);
    if (lets_go_on) SignalExactly(process, SIGCONT);
  }
  return true;
}

// Opens no file, so it works even when no descriptor is free.
void BackgroundJobs::Begin(Children& children, MonotonicTime ended_at) {
  ended_at_ = ended_at;
  knows_started_ = children.ForEach([&](pid_t child) {
    if (::getsid(child) == ::getpid()) started_[child] = HasDied(child);
  });
}

bool BackgroundJobs::IsJob(pid_t child) const {
  return started_.count(child) != 0 || (!knows_started_ && ::getsid(child) == ::getpid());
}

bool BackgroundJobs::NoteEnd(const siginfo_t& info) {
  if (!IsJob(info.si_pid)) return false;
  const auto job = started_.extract(info.si_pid);
  const bool was_dead = !job.empty() && job.mapped();
  const int status = WaitStatusOf(info);
  if (!HasJobFailed(status, BootTime() < ended_at_ + kEarly)) return false;
  if (!has_failed()) {
    const std::optional<ProcessInfo> process = ReadProcess(info.si_pid);
    const ExitStatus exit = ExitStatus::FromWaitStatus(status);
    failed_status_ = status;
    failure_ = absl::StrCat(
        process.has_value() ? ShownName(*process) : "a background job", " (", info.si_pid, ") ",
        exit.signal != 0 ? absl::StrCat("was killed by signal ", exit.signal) : absl::StrCat("ended with ", exit.code));
  }
  return !was_dead;
}

}  // namespace muster::agent
