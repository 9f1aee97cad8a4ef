#include "worker_agent/runtime/status_printer.h"

#include <poll.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdlib>

#include "common/base/text.h"
#include "common/sys/log.h"
#include "common/sys/wait.h"

namespace muster::agent {
namespace {

// The times between two lines of progress in a log; the last of them repeats. A job that forms at once logs no
// progress.
constexpr std::array kLogAfter = {absl::Seconds(5), absl::Seconds(10), absl::Seconds(30),
                                  absl::Minutes(1), absl::Minutes(2),  absl::Minutes(5)};

// Returns false while the terminal is held (Ctrl-S). The line is left out then, because the next one will replace it.
bool TakesMore(std::FILE* terminal) { return LookAt(fileno(terminal), POLLOUT) != 0; }

size_t Columns(std::FILE* terminal) {
  winsize size{};
  if (ioctl(fileno(terminal), TIOCGWINSZ, &size) != 0 || size.ws_col < 20) return 80;
  return size.ws_col;
}

}  // namespace

void StatusPrinter::Print(const Say& say, MonotonicTime now) {
  if (say.is_progress || say.severity == Severity::kInfo) manager_.Status(say.text);
  if (say.is_progress) return PrintProgress(say.text, now);
  ClearProgress();
  has_progress_ = false;
  Log(say.severity, say.text);
}

void StatusPrinter::PrintProgress(const std::string& text, MonotonicTime now) {
  if (terminal_ != nullptr) {
    if (!TakesMore(terminal_)) return;
    const std::string line = EscapeControl(text).substr(0, Columns(terminal_) - 1);
    std::fprintf(terminal_, "\r\033[K%s", line.c_str());
    std::fflush(terminal_);
    is_progress_shown_ = true;
    return;
  }
  if (!has_progress_) {
    has_progress_ = true;
    times_logged_ = 0;
    log_at_ = now + kLogAfter[0];
  }
  if (now < log_at_) return;
  Log(Severity::kInfo, text);
  times_logged_ = std::min(times_logged_ + 1, kLogAfter.size() - 1);
  log_at_ = now + kLogAfter[times_logged_];
}

void StatusPrinter::ClearProgress() {
  if (!is_progress_shown_) return;
  is_progress_shown_ = false;
  if (!TakesMore(terminal_)) return;
  std::fputs("\r\033[K", terminal_);
  std::fflush(terminal_);
}

std::FILE* StatusPrinter::FindTerminal() {
  const char* term = std::getenv("TERM");
  const bool can_rewrite = term != nullptr && std::string(term) != "dumb" && isatty(STDERR_FILENO) == 1;
  return can_rewrite ? stderr : nullptr;
}

}  // namespace muster::agent
