#include "worker_agent/diagnostics/py_spy.h"

#include <fcntl.h>
#include <poll.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <utility>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "common/base/unique_fd.h"
#include "worker_agent/keeper/text.h"

namespace muster::agent {
namespace {

// Running a small program with a bound on everything.

struct BoundedCommand {
  std::vector<std::string> argv;  // argv[0] is a path
  std::vector<std::string> env;   // NAME=VALUE, the whole environment
  size_t max_output_bytes = 0;    // the rest is read and dropped
  MonotonicTime deadline;         // then it is killed
  int cancel_fd = -1;             // readable: it is killed at once
};

struct CommandResult {
  enum class End { kExited, kSignaled, kTimedOut, kCancelled, kNotStarted };
  End end = End::kNotStarted;
  int code = 0;  // exit code, signal or errno
  std::string output;
  std::string errors;  // its stderr; as bounded
};

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

// Blocks, no longer than to the deadline and half a second. In a process group of its own, with default signals and no
// descriptor of ours; nothing of the group is left, not even a zombie, when this returns (but for what hangs in the
// kernel and can't be killed). For any thread, as long as nobody else waits for children that he didn't start.
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

// What py-spy is told, and what it says.

constexpr size_t kMostPySpyBytes = 256 * 1024;
constexpr size_t kMostErrorBytes = 200;

// Looks its command up in PATH: 127 if it isn't there.
constexpr char kEnv[] = "/usr/bin/env";
constexpr int kNotThere = 127;

std::string WithoutRelativeFolders(const std::string& search_path) {
  return absl::StrJoin(
      absl::StrSplit(search_path, ':', [](absl::string_view folder) { return absl::StartsWith(folder, "/"); }), ":");
}

// Nothing of ours but what a program needs to be found and to find its own: the rest may hold passwords.
std::vector<std::string> Environment(const std::string& search_path) {
  std::vector<std::string> env = {absl::StrCat("PATH=", search_path)};
  for (const char* name : {"HOME", "LANG"}) {
    if (const char* value = std::getenv(name)) env.push_back(absl::StrCat(name, "=", value));
  }
  return env;
}

// The first line that says something.
std::string FirstLine(const std::string& errors) {
  const std::string text = CleanText(std::string(absl::StripAsciiWhitespace(errors)), kMostErrorBytes, true);
  return text.substr(0, text.find('\n'));
}

}  // namespace

absl::StatusOr<std::string> RunPySpy(const std::string& search_path, pid_t pid, MonotonicTime deadline, int cancel_fd,
                                     const Clock& clock) {
  const std::string folders = WithoutRelativeFolders(search_path);
  if (folders.empty()) return absl::NotFoundError("PATH is empty");
  CommandResult result = RunBounded({{kEnv, "py-spy", "dump", "--nonblocking", "--pid", absl::StrCat(pid)},
                                     Environment(folders),
                                     kMostPySpyBytes,
                                     deadline,
                                     cancel_fd},
                                    clock);
  switch (result.end) {
    case CommandResult::End::kExited:
      if (result.code == 0 && !result.output.empty()) return std::move(result.output);
      if (result.code == kNotThere) return absl::NotFoundError(FirstLine(result.errors));
      return absl::UnavailableError(absl::StrCat("exit code ", result.code, ": ", FirstLine(result.errors)));
    case CommandResult::End::kSignaled:
      return absl::UnavailableError(absl::StrCat("it died of signal ", result.code));
    case CommandResult::End::kTimedOut:
      return absl::DeadlineExceededError("it took too long");
    case CommandResult::End::kCancelled:
      return absl::CancelledError("ms-worker ends");
    case CommandResult::End::kNotStarted:
      break;
  }
  return absl::UnavailableError(absl::StrCat("it can't be started: ", std::strerror(result.code)));
}

}  // namespace muster::agent
