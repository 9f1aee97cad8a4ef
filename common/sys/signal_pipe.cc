#include "common/sys/signal_pipe.h"

#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>

#include "common/base/check.h"
#include "common/sys/program.h"

namespace muster {
namespace {

std::atomic<int> handlers_end = -1;

void PassOn(int signal) {
  const int before = errno;
  const auto byte = static_cast<unsigned char>(signal);
  // If the pipe is full, it already has enough signals, so this one may be lost.
  [[maybe_unused]] const ssize_t written = write(handlers_end, &byte, 1);
  errno = before;
}

void PassOnEnd(int signal) {
  NoteEndSignal(signal);
  PassOn(signal);
}

void Set(int signal, void (*handler)(int)) {
  struct sigaction action {};
  action.sa_handler = handler;
  action.sa_flags = SA_RESTART;
  sigemptyset(&action.sa_mask);
  sigaction(signal, &action, nullptr);
  sigset_t unblocked;  // the parent process may have blocked the signal
  sigemptyset(&unblocked);
  sigaddset(&unblocked, signal);
  pthread_sigmask(SIG_UNBLOCK, &unblocked, nullptr);
}

}  // namespace

SignalPipe::SignalPipe() {
  int ends[2];
  MUSTER_CHECK(pipe2(ends, O_CLOEXEC | O_NONBLOCK) == 0, "two descriptors at the start");
  out_.reset(ends[0]);
  in_.reset(ends[1]);
  MUSTER_CHECK(handlers_end.exchange(in_.get()) == -1, "a process has one SignalPipe at a time");
}

SignalPipe::~SignalPipe() {
  for (const int signal : handled_) Set(signal, SIG_IGN);
  handlers_end = -1;
}

void SignalPipe::Handle(std::initializer_list<int> signals, bool ends) {
  for (const int signal : signals) {
    handled_.push_back(signal);
    Set(signal, ends ? PassOnEnd : PassOn);
  }
}

void SignalPipe::LetKill(std::initializer_list<int> signals) {
  for (const int signal : signals) {
    Set(signal, SIG_DFL);
    handled_.erase(std::remove(handled_.begin(), handled_.end(), signal), handled_.end());
  }
}

std::optional<int> SignalPipe::Take() {
  unsigned char byte = 0;
  if (read(out_.get(), &byte, 1) != 1) return std::nullopt;
  return byte;
}

}  // namespace muster
