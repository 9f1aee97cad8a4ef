#include "ctl/watch/terminal.h"

#include <poll.h>
#include <sys/ioctl.h>
#include <termios.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <iterator>
#include <string_view>

#include "common/base/check.h"
#include "common/sys/wait.h"

namespace muster::ctl {
namespace {

// kEnter switches to the terminal's second screen, hides the cursor and turns line wrap off. kLeave undoes that.
constexpr std::string_view kEnter = "\x1b[?1049h\x1b[?25l\x1b[?7l";
constexpr std::string_view kLeave = "\x1b[?7h\x1b[?25h\x1b[?1049l";
constexpr int kEnds[] = {SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGPIPE, SIGABRT, SIGSEGV, SIGBUS, SIGFPE, SIGILL};

// The settings of the terminal before and within the full screen. The signal handlers use them, so they are set before
// the handlers are installed, and don't change after that.
termios before;
termios within;
volatile sig_atomic_t is_damaged = 0;

void WriteAll(std::string_view text) {
  while (!text.empty()) {
    const ssize_t done = write(STDOUT_FILENO, text.data(), text.size());
    if (done < 0 && errno == EINTR) continue;
    if (done <= 0) return;
    text.remove_prefix(static_cast<size_t>(done));
  }
}

// Both functions call only functions that a signal handler may call. (The program ignores SIGTTOU: otherwise tcsetattr
// would stop it while it is in the background.)
void Enter() {
  tcsetattr(STDIN_FILENO, TCSANOW, &within);
  WriteAll(kEnter);
}
void Leave() {
  WriteAll(kLeave);
  tcsetattr(STDIN_FILENO, TCSANOW, &before);
}

void OnEnd(int signal) {  // SA_RESETHAND has removed the handler, so raise() ends the program
  Leave();
  raise(signal);
}

void OnStop(int /*signal*/) {
  const int kept = errno;
  Leave();
  raise(SIGSTOP);
  Enter();
  is_damaged = 1;
  errno = kept;
}

void OnResize(int /*signal*/) { is_damaged = 1; }  // the signal also interrupts the poll in Read

void Handle(int signal, void (*handler)(int), int flags) {
  struct sigaction action = {};
  action.sa_handler = handler;
  action.sa_flags = flags;
  sigemptyset(&action.sa_mask);
  sigaction(signal, &action, nullptr);
}

}  // namespace

bool IsScreen() {
  const char* kind = getenv("TERM");
  return isatty(STDIN_FILENO) == 1 && isatty(STDOUT_FILENO) == 1 && kind != nullptr &&
         std::string_view(kind) != "dumb" && *kind != '\0';
}

Terminal::Terminal() {
  MUSTER_CHECK(tcgetattr(STDIN_FILENO, &before) == 0, "there is a terminal");
  within = before;
  within.c_lflag &= ~static_cast<tcflag_t>(ICANON | ECHO);  // Ctrl-C and Ctrl-Z still send signals
  within.c_iflag &= ~static_cast<tcflag_t>(ICRNL | IXON);
  within.c_cc[VMIN] = 1;
  within.c_cc[VTIME] = 0;
  Handle(SIGTTOU, SIG_IGN, 0);
  Enter();
  for (const int signal : kEnds) Handle(signal, OnEnd, static_cast<int>(SA_RESETHAND | SA_NODEFER));
  Handle(SIGTSTP, OnStop, 0);
  Handle(SIGWINCH, OnResize, 0);
}

Terminal::~Terminal() {
  for (const int signal : kEnds) Handle(signal, SIG_DFL, 0);
  for (const int signal : {SIGTSTP, SIGWINCH}) Handle(signal, SIG_DFL, 0);
  Leave();
}

Terminal::Size Terminal::size() const {
  winsize size = {};
  if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) != 0 || size.ws_col == 0 || size.ws_row == 0) return {};
  return {size.ws_col, size.ws_row};
}

void Terminal::Write(const std::string& text) { WriteAll(text); }

bool Terminal::TakeDamage() {
  const bool found = is_damaged != 0;
  is_damaged = 0;
  return found;
}

bool Terminal::Read(std::string& bytes, absl::Duration patience) {
  if (WaitFor(STDIN_FILENO, POLLIN, patience) == 0) return true;
  char some[256];
  const ssize_t size = read(STDIN_FILENO, some, std::size(some));
  if (size < 0) return errno == EINTR || errno == EAGAIN;
  bytes.append(some, static_cast<size_t>(size));
  return size > 0;
}

}  // namespace muster::ctl
