// A thread where there may be none: std::thread's exception would end the program.
#pragma once

#include <signal.h>

#include <system_error>
#include <thread>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "common/room.h"

namespace muster {

// RESOURCE_EXHAUSTED, with the limit that is reached, if the system has none. What our programs handle is left to the
// main thread: a handler would interrupt what this one waits for.
template <typename Work>
absl::StatusOr<std::thread> TryThread(Work&& work) {
  sigset_t handled;
  sigset_t before;
  sigemptyset(&handled);
  for (const int signal : {SIGTERM, SIGINT, SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2, SIGALRM}) sigaddset(&handled, signal);
  pthread_sigmask(SIG_BLOCK, &handled, &before);
  absl::StatusOr<std::thread> thread = absl::UnknownError("");
  try {
    thread = std::thread(std::forward<Work>(work));
  } catch (const std::system_error& error) {
    thread =
        absl::ResourceExhaustedError(absl::StrCat("no thread can be made (", error.what(), ")", TaskLimitInWords()));
  }
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  return thread;
}

}  // namespace muster
