#include "scheduler/stop_waiter.h"

#include <poll.h>
#include <signal.h>
#include <sys/eventfd.h>
#include <sys/signalfd.h>

#include <array>

#include "common/check.h"

namespace muster::scheduler {
namespace {

sigset_t StopSignals() {
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, SIGTERM);
  sigaddset(&set, SIGINT);
  sigaddset(&set, SIGHUP);
  return set;
}

}  // namespace

StopWaiter::StopWaiter() {
  const sigset_t set = StopSignals();
  struct sigaction hangup {};
  sigaction(SIGHUP, nullptr, &hangup);
  ignores_hangup_ = hangup.sa_handler == SIG_IGN;  // nohup; a blocked signal comes all the same
  pthread_sigmask(SIG_BLOCK, &set, nullptr);
  signal(SIGPIPE, SIG_IGN);
  signal(SIGXFSZ, SIG_IGN);  // a file that may not grow (ulimit -f) is an error that the journal tells of
  signals_.reset(signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK));
  wake_.reset(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  MUSTER_CHECK(signals_.is_open() && wake_.is_open(), "two descriptors at the start");
}

void StopWaiter::NoteSettled(int exit_code) {
  {
    MutexLock lock(mutex_);
    if (settled_.has_value()) return;
    settled_ = exit_code;
  }
  eventfd_write(wake_.get(), 1);
}

std::optional<int> StopWaiter::settled() const {
  MutexLock lock(mutex_);
  return settled_;
}

int StopWaiter::Wait(const std::function<bool()>& on_hangup) {
  while (true) {
    std::array<pollfd, 2> watched = {{{signals_.get(), POLLIN, 0}, {wake_.get(), POLLIN, 0}}};
    poll(watched.data(), watched.size(), -1);
    signalfd_siginfo info{};
    if (read(signals_.get(), &info, sizeof(info)) == sizeof(info)) {
      if (info.ssi_signo != SIGHUP) return static_cast<int>(info.ssi_signo);
      if (!on_hangup() && !ignores_hangup_) return SIGHUP;
    }
    if (settled().has_value()) return 0;
  }
}

void StopWaiter::LetSignalsKill() {
  const sigset_t set = StopSignals();
  pthread_sigmask(SIG_UNBLOCK, &set, nullptr);
}

Killable::Killable() {
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, SIGTERM);
  sigaddset(&set, SIGINT);
  pthread_sigmask(SIG_UNBLOCK, &set, &before_);
}

Killable::~Killable() { pthread_sigmask(SIG_SETMASK, &before_, nullptr); }

}  // namespace muster::scheduler
