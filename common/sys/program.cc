#include "common/sys/program.h"

#include <errno.h>
#include <fcntl.h>
#include <nss.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <csignal>
#include <cstdio>
#include <cstdlib>

#include "common/base/exit_codes.h"
#include "common/sys/log.h"
#include "common/sys/wait.h"

#if defined(__SANITIZE_ADDRESS__)
#define MUSTER_LOOKS_FOR_LEAKS 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define MUSTER_LOOKS_FOR_LEAKS 1
#endif
#endif
#ifdef MUSTER_LOOKS_FOR_LEAKS
#include <sanitizer/lsan_interface.h>
#endif

namespace muster {

void BeginProgram(const char* name) {
  for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; ++fd) {
    // open takes the lowest free number, which is this one.
    if (fcntl(fd, F_GETFD) < 0 && open("/dev/null", O_RDWR) < 0) _exit(1);
  }
  prctl(PR_SET_NAME, name);
  signal(SIGXFSZ, SIG_IGN);
  signal(SIGCHLD, SIG_DFL);
  // Without a loader this is a static program. The host's NSS modules belong to another C library, so they must not be
  // loaded.
  if (getauxval(AT_BASE) == 0) {
    __nss_configure_lookup("hosts", "files dns");
    for (const char* database : {"passwd", "group", "initgroups", "services"}) {
      __nss_configure_lookup(database, "files");
    }
  }
}

namespace {

constexpr absl::Duration kLogPatience = absl::Seconds(2);
constexpr absl::Duration kLongest = absl::Hours(24 * 365);  // more than any real setting; alarm() can take it

std::atomic<int> last_resort_code = kExitUsage;
std::atomic<unsigned> signal_patience_s = 0;
std::atomic<bool> has_end_signal = false;
std::atomic<bool> is_ending = false;  // we have set the alarm; a SIGALRM from another process is ignored

unsigned WholeSeconds(absl::Duration patience) {
  return static_cast<unsigned>(
      std::clamp<int64_t>(absl::ToInt64Seconds(std::min(patience, kLongest)), 1, absl::ToInt64Seconds(kLongest)));
}

// Makes only async-signal-safe calls. Must not block on a stuck reader of stderr.
void OnAlarm(int) {
  if (!is_ending) return;
  static const char kText[] =
      ": the shutdown takes too long: something hangs, so this program ends at once, without waiting\n";
  if ((LookAt(STDERR_FILENO, POLLOUT) & POLLOUT) != 0) {
    ssize_t ignored = write(STDERR_FILENO, program_invocation_short_name, strlen(program_invocation_short_name));
    ignored = write(STDERR_FILENO, kText, sizeof(kText) - 1);
    static_cast<void>(ignored);
  }
  _exit(last_resort_code);
}

void HandleAlarm() {
  struct sigaction action {};
  action.sa_handler = OnAlarm;
  action.sa_flags = SA_RESTART;
  sigemptyset(&action.sa_mask);
  sigaction(SIGALRM, &action, nullptr);
  sigset_t unblocked;  // the parent process may have blocked the signal
  sigemptyset(&unblocked);
  sigaddset(&unblocked, SIGALRM);
  pthread_sigmask(SIG_UNBLOCK, &unblocked, nullptr);
}

}  // namespace

void EndProgram(int code) {
  // A reader that closes early, such as head, causes no failure.
  const bool is_lost = std::fflush(stdout) != 0 ? errno != EPIPE : std::ferror(stdout) != 0 && errno != EPIPE;
  if (is_lost && code == kExitSuccess) {
    std::fprintf(stderr, "%s: not all of the output could be written\n", program_invocation_short_name);
    code = EXIT_FAILURE;
  }
  FlushLog(kLogPatience);
#ifdef MUSTER_LOOKS_FOR_LEAKS
  __lsan_do_leak_check();
#endif
  _exit(code);
}

void EndAtTheLatest(absl::Duration patience, int code) {
  alarm(0);
  last_resort_code = code;
  is_ending = patience != absl::InfiniteDuration() || has_end_signal;
  if (patience == absl::InfiniteDuration()) {
    if (has_end_signal) alarm(signal_patience_s);
    return;
  }
  HandleAlarm();
  alarm(WholeSeconds(patience));
}

void SetSignalPatience(absl::Duration patience) {
  HandleAlarm();
  signal_patience_s = WholeSeconds(patience);
}

void NoteEndSignal(int signal) {
  if (signal_patience_s == 0 || has_end_signal.exchange(true)) return;
  last_resort_code = kExitSignalBase + signal;
  is_ending = true;
  alarm(signal_patience_s);
}

}  // namespace muster
