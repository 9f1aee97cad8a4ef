// Makes threads without an exception (std::thread's would end the program), and a thread for calls that may never
// return.
#pragma once

#include <signal.h>

#include <functional>
#include <memory>
#include <string>
#include <system_error>
#include <thread>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "common/sys/room.h"

namespace muster {

// Returns RESOURCE_EXHAUSTED, with the limit that is reached, if the system has no thread left. The main thread handles
// our programs' signals: a handler would interrupt this thread's waits.
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

// A thread for calls that may never return, such as reading from a file system that has gone away. It can be abandoned,
// so that neither its caller nor the end of the process hangs with it.
class SideThread {
 public:
  // `name` as the system shows it, at most 15 bytes. RESOURCE_EXHAUSTED: no thread can be made.
  static absl::StatusOr<std::shared_ptr<SideThread>> Make(const std::string& name);
  // Doesn't wait.
  ~SideThread();

  // Has `work` run there and waits for its end. Returns false after `limit`; at once while an earlier work still runs,
  // and after GiveUp. One caller at a time. `work` must own everything it touches: it may run on when its caller is
  // gone.
  bool Run(std::function<void()> work, absl::Duration limit);

  // Any thread: from now on Run doesn't wait.
  void GiveUp();

 private:
  struct Shared;
  explicit SideThread(std::shared_ptr<Shared> shared) : shared_(std::move(shared)) {}
  static void Serve(const std::shared_ptr<Shared>& shared);

  const std::shared_ptr<Shared> shared_;
};

}  // namespace muster
