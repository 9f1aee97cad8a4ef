#include "worker_agent/diagnostics/bounded_command.h"

#include <fcntl.h>
#include <poll.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <iterator>

#include "common/base/unique_fd.h"

namespace muster::agent {
namespace {

constexpr int kLookMs = 20;  // for its end, while it says nothing
constexpr absl::Duration kReapPatience = absl::Milliseconds(400);

// Reads what is there, as far as one turn goes: who writes without end must not keep us here. False at the end.
bool Drain(int fd, std::string& text, size_t most) {
  char bytes[4096];
  for (int turn = 0; turn < 64; ++turn) {
    const ssize_t n = read(fd, bytes, sizeof bytes);
    if (n < 0) return errno == EAGAIN || errno == EINTR;
    if (n == 0) return false;
    text.append(bytes, std::min(static_cast<size_t>(n), most - std::min(most, text.size())));
  }
  return true;
}

// Of which the reading end doesn't block.
struct Pipe {
  Pipe() {
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) != 0) return;
    out.reset(ends[0]);
    in.reset(ends[1]);
    fcntl(ends[0], F_SETFL, O_NONBLOCK);
  }
  UniqueFd out;
  UniqueFd in;
};

std::vector<char*> Pointers(const std::vector<std::string>& texts) {
  std::vector<char*> pointers;
  for (const std::string& text : texts) pointers.push_back(const_cast<char*>(text.c_str()));
  pointers.push_back(nullptr);
  return pointers;
}

int Spawn(const BoundedCommand& command, int out, int err, pid_t& pid) {
  posix_spawn_file_actions_t files;
  posix_spawnattr_t attributes;
  posix_spawn_file_actions_init(&files);
  posix_spawn_file_actions_addopen(&files, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_adddup2(&files, out, STDOUT_FILENO);
  posix_spawn_file_actions_adddup2(&files, err, STDERR_FILENO);
  posix_spawn_file_actions_addclosefrom_np(&files, STDERR_FILENO + 1);
  posix_spawnattr_init(&attributes);
  sigset_t all;
  sigset_t none;
  sigfillset(&all);
  sigemptyset(&none);
  posix_spawnattr_setsigdefault(&attributes, &all);
  posix_spawnattr_setsigmask(&attributes, &none);
  posix_spawnattr_setpgroup(&attributes, 0);
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETSIGMASK);
  const std::vector<char*> argv = Pointers(command.argv);
  const std::vector<char*> env = Pointers(command.env);
  const int error = posix_spawn(&pid, argv[0], &files, &attributes, argv.data(), env.data());
  posix_spawn_file_actions_destroy(&files);
  posix_spawnattr_destroy(&attributes);
  return error;
}

// It stays a zombie, so that its group keeps its number.
bool HasEnded(pid_t pid) {
  siginfo_t info{};
  return waitid(P_PID, static_cast<id_t>(pid), &info, WEXITED | WNOHANG | WNOWAIT) != 0 || info.si_pid == pid;
}

// Kills what is left of the group and reaps it; its orphans have become children of this process, a subreaper.
void ReapGroup(pid_t leader, CommandResult& result, const Clock& clock) {
  kill(-leader, SIGKILL);
  const MonotonicTime give_up = clock.Read().monotonic + kReapPatience;
  while (clock.Read().monotonic < give_up) {
    int status = 0;
    const pid_t pid = waitpid(-leader, &status, WNOHANG);
    if (pid < 0) return;
    if (pid == leader && result.end == CommandResult::End::kExited) {
      if (WIFSIGNALED(status)) result.end = CommandResult::End::kSignaled;
      result.code = WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status);
    }
    if (pid == 0) poll(nullptr, 0, 1);
  }
}

}  // namespace

CommandResult RunBounded(const BoundedCommand& command, const Clock& clock) {
  CommandResult result;
  Pipe output;
  Pipe errors;
  if (!output.out.is_open() || !errors.out.is_open()) {
    result.code = EMFILE;
    return result;
  }
  pid_t pid = 0;
  result.code = Spawn(command, output.in.get(), errors.in.get(), pid);
  if (result.code != 0) return result;
  output.in.reset();
  errors.in.reset();

  result.end = CommandResult::End::kExited;
  pollfd fds[] = {{output.out.get(), POLLIN, 0}, {errors.out.get(), POLLIN, 0}, {command.cancel_fd, POLLIN, 0}};
  while (!HasEnded(pid)) {
    if (clock.Read().monotonic >= command.deadline) {
      result.end = CommandResult::End::kTimedOut;
      break;
    }
    poll(fds, std::size(fds), kLookMs);
    if (fds[2].revents != 0) {
      result.end = CommandResult::End::kCancelled;
      break;
    }
    if (fds[0].revents != 0 && !Drain(output.out.get(), result.output, command.max_output_bytes)) fds[0].fd = -1;
    if (fds[1].revents != 0 && !Drain(errors.out.get(), result.errors, command.max_output_bytes)) fds[1].fd = -1;
  }
  ReapGroup(pid, result, clock);
  Drain(output.out.get(), result.output, command.max_output_bytes);
  Drain(errors.out.get(), result.errors, command.max_output_bytes);
  return result;
}

}  // namespace muster::agent
