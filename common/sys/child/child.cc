#include "common/sys/child/child.h"

#include <fcntl.h>
#include <spawn.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include <cerrno>
#include <csignal>

#include "common/base/clock.h"
#include "common/sys/wait.h"

namespace muster {
namespace {

constexpr absl::Duration kChildLookPause = absl::Milliseconds(10);  // between checks for the child's end

ChildState Look(pid_t pid) {
  siginfo_t info{};
  if (waitid(P_PID, static_cast<id_t>(pid), &info, WEXITED | WNOHANG | WNOWAIT) != 0) return ChildState::kUnknown;
  return info.si_pid == pid ? ChildState::kEnded : ChildState::kRuns;
}

}  // namespace

// Uses posix_spawn, not fork: fork copies the page tables of a large program and runs libraries' fork handlers.
int StartChild(const ChildOptions& options, pid_t& pid) {
  posix_spawn_file_actions_t files;
  posix_spawnattr_t attributes;
  posix_spawn_file_actions_init(&files);
  int next = 0;
  for (const int fd : {options.in, options.out, options.err}) {
    if (fd < 0) {
      posix_spawn_file_actions_addopen(&files, next, "/dev/null", next == 0 ? O_RDONLY : O_WRONLY, 0);
    } else {
      posix_spawn_file_actions_adddup2(&files, fd, next);
    }
    ++next;
  }
  if (options.third >= 0) posix_spawn_file_actions_adddup2(&files, options.third, next++);
  posix_spawn_file_actions_addclosefrom_np(&files, next);
  posix_spawnattr_init(&attributes);
  sigset_t all;
  sigset_t none;
  sigfillset(&all);
  sigemptyset(&none);
  posix_spawnattr_setsigdefault(&attributes, &all);
  posix_spawnattr_setsigmask(&attributes, &none);
  posix_spawnattr_setpgroup(&attributes, 0);
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETSIGMASK);
  const int error = posix_spawn(&pid, options.argv.at(0).c_str(), &files, &attributes,
                                ExecPointers(options.argv).data(), ExecPointers(options.env).data());
  posix_spawn_file_actions_destroy(&files);
  posix_spawnattr_destroy(&attributes);
  return error;
}

ChildState AwaitChild(pid_t pid, absl::Duration patience) {
  ChildState state = Look(pid);
  if (state != ChildState::kRuns || patience <= absl::ZeroDuration()) return state;
  const UniqueFd watch = WatchChild(pid);
  const MonotonicTime deadline = Clock::System().Read().monotonic + patience;
  while (state == ChildState::kRuns) {
    const absl::Duration left = deadline - Clock::System().Read().monotonic;
    if (left <= absl::ZeroDuration()) break;
    watch.is_open() ? void(WaitFor(watch.get(), POLLIN, left)) : Pause(std::min(left, kChildLookPause));
    state = Look(pid);
  }
  return state;
}

std::optional<ExitStatus> ReapChild(pid_t pid) {
  int status = 0;
  pid_t reaped = 0;
  do {
    reaped = waitpid(pid, &status, 0);
  } while (reaped < 0 && errno == EINTR);
  if (reaped != pid) return std::nullopt;
  return ExitStatus::FromWaitStatus(status);
}

UniqueFd WatchChild(pid_t pid) { return UniqueFd(static_cast<int>(syscall(SYS_pidfd_open, pid, 0))); }

std::vector<char*> ExecPointers(const std::vector<std::string>& texts) {
  std::vector<char*> pointers;
  pointers.reserve(texts.size() + 1);
  for (const std::string& text : texts) pointers.push_back(const_cast<char*>(text.c_str()));
  pointers.push_back(nullptr);
  return pointers;
}

}  // namespace muster
