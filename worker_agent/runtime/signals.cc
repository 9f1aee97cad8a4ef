#include "worker_agent/runtime/signals.h"

#include <csignal>

namespace muster::agent {
namespace {

bool IsIgnored(int signal) {
  struct sigaction action {};
  return sigaction(signal, nullptr, &action) == 0 && action.sa_handler == SIG_IGN;
}

}  // namespace

Signals::Signals() {
  signal(SIGPIPE, SIG_IGN);
  pipe_.Handle({SIGTERM}, /*ends=*/true);
  pipe_.Handle({SIGUSR1, SIGUSR2}, /*ends=*/false);
  for (const int signal : {SIGINT, SIGHUP, SIGQUIT}) {
    if (!IsIgnored(signal)) pipe_.Handle({signal}, /*ends=*/true);
  }
}

bool Signals::TakeEnd() {
  bool does_end = false;
  while (const std::optional<int> signal = Take()) does_end |= !IsForwarded(*signal);
  return does_end;
}

bool Signals::IsForwarded(int signal) { return signal == SIGUSR1 || signal == SIGUSR2; }

}  // namespace muster::agent
