#include "worker_agent/gateway/exec/program/holder.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstring>
#include <set>

#include "worker_agent/gateway/exec/program/io.h"

namespace muster::exec {
namespace {

using SteadyTime = std::chrono::steady_clock;

constexpr auto kLastCommands = std::chrono::seconds(5);  // for remote commands, after the job's command has ended

// Reads a letter. Returns the descriptor that came with it, or -1.
int TakeLetter(int control, char& letter) {
  iovec bytes{&letter, 1};
  alignas(cmsghdr) char room[CMSG_SPACE(sizeof(int))];
  msghdr message{};
  message.msg_iov = &bytes;
  message.msg_iovlen = 1;
  message.msg_control = room;
  message.msg_controllen = sizeof(room);
  const ssize_t got = ::recvmsg(control, &message, MSG_CMSG_CLOEXEC | MSG_DONTWAIT);
  if (got == 0) letter = 0;  // the agent has gone
  const cmsghdr* const head = got > 0 ? CMSG_FIRSTHDR(&message) : nullptr;
  if (head == nullptr || head->cmsg_level != SOL_SOCKET || head->cmsg_type != SCM_RIGHTS) return -1;
  int descriptor = -1;
  std::memcpy(&descriptor, CMSG_DATA(head), sizeof(descriptor));
  return descriptor;
}

class Holder {
 public:
  explicit Holder(int control) : control_(control) {}

  int Run() {
    const UniqueFd signals = TakeSignals({SIGCHLD, SIGTERM, SIGINT, SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2});
    while (true) {
      Reap();
      if (stop_signal_ != 0 && children_.empty()) return 128 + stop_signal_;
      if (is_over_ && (children_.empty() || SteadyTime::now() >= end_at_)) return 0;
      pollfd ready[] = {{control_.is_open() && !is_over_ ? control_.get() : -1, POLLIN, 0}, {signals.get(), POLLIN, 0}};
      ::poll(ready, 2, is_over_ ? 100 : -1);
      while (const int signal = NextSignal(signals.get())) Take(signal);
      if (ready[0].revents != 0 && !TakeOrder()) return 1;
    }
  }

 private:
  bool TakeOrder() {
    char letter = '?';
    const UniqueFd socket(TakeLetter(control_.get(), letter));
    if (letter == kEndLetter) {
      is_over_ = true;
      end_at_ = SteadyTime::now() + kLastCommands;
    }
    if (letter == kCommandLetter && socket.is_open() && stop_signal_ == 0) Start(socket.get());
    return letter != 0;
  }

  void Start(int socket) {
    const pid_t child = ::fork();
    if (child < 0) return;  // the socket closes, by which the client sees the failure
    if (child > 0) {
      children_.insert(child);
      return;
    }
    control_.reset();
    ServeCommand(socket);
    ::_exit(0);
  }

  // Passes a stop signal to all commands, as the keeper of an ordinary node passes it to all processes.
  void Take(int signal) {
    // (The launcher sends user signals to its ranks itself.)
    if (signal == SIGCHLD || signal == SIGUSR1 || signal == SIGUSR2) return;
    stop_signal_ = signal;
    for (const pid_t child : children_) ::kill(child, signal);
  }

  void Reap() {
    while (true) {
      const pid_t pid = ::waitpid(-1, nullptr, WNOHANG);
      if (pid <= 0) return;
      children_.erase(pid);
    }
  }

  UniqueFd control_;
  std::set<pid_t> children_;
  SteadyTime::time_point end_at_;
  bool is_over_ = false;
  int stop_signal_ = 0;
};

}  // namespace

int RunHolder(int control) {
  std::signal(SIGPIPE, SIG_IGN);
  ::fcntl(control, F_SETFD, FD_CLOEXEC);
  return Holder(control).Run();
}

}  // namespace muster::exec
