#include "worker_agent/gateway/exec/program/io.h"

#include <poll.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>

namespace muster::exec {

bool WriteAll(int fd, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t written = ::write(fd, bytes.data(), bytes.size());
    if (written > 0) {
      bytes.remove_prefix(static_cast<size_t>(written));
    } else if (written < 0 && errno == EAGAIN) {  // another process made the output nonblocking
      pollfd ready{fd, POLLOUT, 0};
      ::poll(&ready, 1, -1);
    } else if (written == 0 || errno != EINTR) {
      return false;
    }
  }
  return true;
}

ReadResult ReadSome(int fd, size_t most, std::string& out) {
  const size_t before = out.size();
  out.resize(before + most);
  ssize_t got = 0;
  do {
    got = ::read(fd, out.data() + before, most);
  } while (got < 0 && errno == EINTR);
  const bool is_empty = got < 0 && errno == EAGAIN;
  out.resize(before + (got > 0 ? static_cast<size_t>(got) : 0));
  if (is_empty) return ReadResult::kNothing;
  return got > 0 ? ReadResult::kSome : ReadResult::kEnd;
}

UniqueFd TakeSignals(const std::vector<int>& signals) {
  sigset_t set;
  ::sigemptyset(&set);
  for (const int signal : signals) ::sigaddset(&set, signal);
  ::signal(SIGCHLD, SIG_DFL);  // if it were ignored, it would not come, and ends of children would be missed
  ::sigprocmask(SIG_BLOCK, &set, nullptr);
  return UniqueFd(::signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK));
}

int NextSignal(int fd) {
  signalfd_siginfo info{};
  return ::read(fd, &info, sizeof(info)) == sizeof(info) ? static_cast<int>(info.ssi_signo) : 0;
}

void RestoreSignals() {
  sigset_t none;
  ::sigemptyset(&none);
  ::sigprocmask(SIG_SETMASK, &none, nullptr);
  for (const int signal : {SIGPIPE, SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2, SIGCHLD}) {
    ::signal(signal, SIG_DFL);
  }
}

}  // namespace muster::exec
