// Makes threads without an exception (std::thread throws one, which would end the program). Also has a thread for calls
// that may never return.
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

// Returns the thread; RESOURCE_EXHAUSTED, with the limit that is reached, if none can be made. The thread blocks the
// signals that our programs handle, so that only the main thread handles them: a handler would interrupt this thread's
// waits.
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

// A thread for calls that may never return, such as reading from a file system that no longer answers. It can be
// abandoned. Then neither its caller nor the end of the process waits for it.
class SideThread {
 public:
  // `name` is shown by the system and has at most 15 bytes. RESOURCE_EXHAUSTED: no thread can be made.
  static absl::StatusOr<std::shared_ptr<SideThread>> Make(const std::string& name);
  // Does not wait for the thread.
  ~SideThread();

  // Runs `work` in the thread and waits for its end. Returns false if it has not ended after `limit`. Returns false at
  // once while an earlier work still runs, and after GiveUp. Only one caller at a time. `work` must own everything it
  // uses, because it may still run after its caller has gone.
  bool Run(std::function<void()> work, absl::Duration limit);

  // From now on Run does not wait. May be called by any thread.
  void GiveUp();

 private:
  struct Shared;
  explicit SideThread(std::shared_ptr<Shared> shared) : shared_(std::move(shared)) {}
  static void Serve(const std::shared_ptr<Shared>& shared);

  const std::shared_ptr<Shared> shared_;
};

}  // namespace muster
