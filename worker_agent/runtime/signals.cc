#include "worker_agent/runtime/signals.h"

#include <unistd.h>

#include <csignal>

#include "common/check.h"

namespace muster::agent {
namespace {

bool IsIgnored(int signal) {
  struct sigaction action {};
  return sigaction(signal, nullptr, &action) == 0 && action.sa_handler == SIG_IGN;
}

}  // namespace

Signals::Signals() {
  signal(SIGPIPE, SIG_IGN);
  sigset_t wanted;
  sigemptyset(&wanted);
  for (const int signal : {SIGTERM, SIGUSR1, SIGUSR2}) sigaddset(&wanted, signal);
  for (const int signal : {SIGINT, SIGHUP, SIGQUIT}) {
    if (!IsIgnored(signal)) sigaddset(&wanted, signal);
  }
  pthread_sigmask(SIG_BLOCK, &wanted, nullptr);
  fd_ = signalfd(-1, &wanted, SFD_CLOEXEC | SFD_NONBLOCK);
  MUSTER_CHECK(fd_ >= 0, "a signalfd can be had at the start");
}

Signals::~Signals() { close(fd_); }

std::optional<int> Signals::Take() {
  signalfd_siginfo info{};
  if (read(fd_, &info, sizeof(info)) != sizeof(info)) return std::nullopt;
  return static_cast<int>(info.ssi_signo);
}

bool Signals::TakeEnd() {
  bool does_end = false;
  while (const std::optional<int> signal = Take()) does_end |= !IsForwarded(*signal);
  return does_end;
}

bool Signals::IsForwarded(int signal) { return signal == SIGUSR1 || signal == SIGUSR2; }

}  // namespace muster::agent
