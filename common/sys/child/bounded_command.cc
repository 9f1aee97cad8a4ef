#include "common/sys/child/bounded_command.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <iterator>

#include "common/base/unique_fd.h"
#include "common/sys/child/child.h"
#include "common/sys/wait.h"

namespace muster {
namespace {

constexpr absl::Duration kBoundedLookPause = absl::Milliseconds(20);  // between checks for the program's end
constexpr absl::Duration kReapPatience = absl::Milliseconds(400);
constexpr absl::Duration kOrphanPause = absl::Milliseconds(5);

// Reads the bytes that are available, with a limit for one call, so that a program that writes without end can't keep
// us here. Returns false at the end of the stream.
bool Drain(int fd, std::string& text, const BoundedCommand& command) {
  const size_t most = command.max_output_bytes;
  char bytes[4096];
  for (int turn = 0; turn < 64; ++turn) {
    const ssize_t n = read(fd, bytes, sizeof bytes);
    if (n < 0) return errno == EAGAIN || errno == EINTR;
    if (n == 0) return false;
    const auto size = static_cast<size_t>(n);
    if (command.keeps_end) {
      text.append(bytes, size);
      if (text.size() > most) text.erase(0, text.size() - most);
    } else {
      text.append(bytes, std::min(size, most - std::min(most, text.size())));
    }
  }
  return true;
}

// A pipe with a reading end that never blocks.
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

// Kills the rest of the process group and reaps it. This process is a subreaper, so the group's orphans are its
// children.
void ReapGroup(pid_t leader, CommandResult& result, const Clock& clock) {
  kill(-leader, SIGKILL);
  const MonotonicTime give_up = clock.Read().monotonic + kReapPatience;
  if (AwaitChild(leader, kReapPatience) == ChildState::kEnded) {
    const ExitStatus exit = ReapChild(leader).value_or(ExitStatus{});
    if (result.end == CommandResult::End::kExited) {
      if (exit.signal != 0) result.end = CommandResult::End::kSignaled;
      result.code = exit.signal != 0 ? exit.signal : exit.code;
    }
  }
  while (clock.Read().monotonic < give_up) {
    const pid_t pid = waitpid(-leader, nullptr, WNOHANG);
    if (pid < 0) return;
    if (pid == 0) Pause(kOrphanPause);
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
  const int errors_in = command.joins_errors ? output.in.get() : errors.in.get();
  result.code = StartChild({command.argv, command.env, -1, output.in.get(), errors_in}, pid);
  if (result.code != 0) return result;
  output.in.reset();
  errors.in.reset();

  result.end = CommandResult::End::kExited;
  const UniqueFd watch = WatchChild(pid);
  pollfd fds[] = {{output.out.get(), POLLIN, 0},
                  {errors.out.get(), POLLIN, 0},
                  {command.cancel_fd, POLLIN, 0},
                  {watch.get(), POLLIN, 0}};
  while (AwaitChild(pid) == ChildState::kRuns) {
    const absl::Duration left = command.deadline - clock.Read().monotonic;
    if (left <= absl::ZeroDuration()) {
      result.end = CommandResult::End::kTimedOut;
      break;
    }
    poll(fds, std::size(fds), PollMs(watch.is_open() ? left : std::min(left, kBoundedLookPause)));
    if (fds[2].revents != 0) {
      result.end = CommandResult::End::kCancelled;
      break;
    }
    if (fds[0].revents != 0 && !Drain(output.out.get(), result.output, command)) fds[0].fd = -1;
    if (fds[1].revents != 0 && !Drain(errors.out.get(), result.errors, command)) fds[1].fd = -1;
  }
  ReapGroup(pid, result, clock);
  Drain(output.out.get(), result.output, command);
  Drain(errors.out.get(), result.errors, command);
  return result;
}

}  // namespace muster
