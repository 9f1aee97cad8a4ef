#include "worker_agent/runtime/signals.h"

#include <csignal>

#include "absl/strings/str_cat.h"
#include "common/base/exit_codes.h"
#include "common/base/exit_status.h"
#include "common/sys/log.h"

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

std::optional<int> Signals::TakeEndBeforeJob() {
  while (const std::optional<int> signal = Take()) {
    if (IsForwarded(*signal)) continue;
    Log(Severity::kInfo, absl::StrCat("got ", NameOfSignal(*signal), " before the job had begun: ending"));
    return kExitSignalBase + *signal;
  }
  return std::nullopt;
}

bool Signals::IsForwarded(int signal) { return signal == SIGUSR1 || signal == SIGUSR2; }

}  // namespace muster::agent
