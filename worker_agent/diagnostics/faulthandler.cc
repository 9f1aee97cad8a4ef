#include "worker_agent/diagnostics/faulthandler.h"

#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <system_error>

#include "absl/strings/str_cat.h"
#include "common/sys/file_io.h"
#include "common/sys/wait.h"
#include "worker_agent/diagnostics/kernel_state.h"

namespace muster::agent {
namespace {

constexpr absl::Duration kTraceLook = absl::Milliseconds(20);
constexpr absl::Duration kQuiet = absl::Milliseconds(200);  // it has stopped growing
constexpr off_t kMaxTraceBytes = 1024 * 1024;

std::string ReadFrom(int fd, off_t from, off_t to) {
  std::string text(static_cast<size_t>(std::min(to - from, kMaxTraceBytes)), '\0');
  const ssize_t n = pread(fd, text.data(), text.size(), from);
  text.resize(n > 0 ? static_cast<size_t>(n) : 0);
  return text;
}

}  // namespace

// It keeps the file open for the stacks, and catches the signal: a launcher that catches all signals does not have it
// open.
bool HasAgreed(const ProcessInfo& process, const std::string& stacks_file) {
  if (!CatchesSignal(process.pid, kStacksSignal)) return false;
  std::error_code error;
  for (std::filesystem::directory_iterator entry(absl::StrCat("/proc/", process.pid, "/fd"), error), end;
       !error && entry != end; entry.increment(error)) {
    std::error_code unreadable;  // closed meanwhile
    if (std::filesystem::read_symlink(entry->path(), unreadable) == stacks_file) return true;
  }
  return false;
}

absl::StatusOr<std::string> AskFaulthandler(const ProcessInfo& process, const std::string& stacks_file,
                                            MonotonicTime deadline, int cancel_fd, const Clock& clock) {
  struct stat info {};
  const UniqueFd file = OpenRegularFile(stacks_file, info);
  if (!file.is_open()) return absl::NotFoundError("MS_STACKS_FILE is gone");
  const off_t before = info.st_size;
  off_t size = before;
  SignalExactly(process, kStacksSignal);
  MonotonicTime grown_at = clock.Read().monotonic;
  while (true) {
    if (WaitFor(cancel_fd, POLLIN, kTraceLook) != 0) return absl::CancelledError("ms-worker ends");
    const MonotonicTime now = clock.Read().monotonic;
    if (fstat(file.get(), &info) == 0 && info.st_size != size) {
      size = info.st_size;
      grown_at = now;
    }
    if (size > before && now - grown_at >= kQuiet) break;
    if (now >= deadline) break;
  }
  if (size <= before) return absl::DeadlineExceededError("it didn't answer the signal");
  return ReadFrom(file.get(), before, size);
}

}  // namespace muster::agent
