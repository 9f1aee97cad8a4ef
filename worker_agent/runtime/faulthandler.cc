#include "worker_agent/runtime/faulthandler.h"

#include <poll.h>
#include <unistd.h>

#include <algorithm>

#include "worker_agent/runtime/kernel_state.h"
#include "worker_agent/runtime/regular_file.h"

namespace muster::agent {
namespace {

constexpr int kLookMs = 20;
constexpr absl::Duration kQuiet = absl::Milliseconds(200);  // it has stopped growing
constexpr off_t kMostBytes = 1024 * 1024;

std::string ReadFrom(int fd, off_t from, off_t to) {
  std::string text(static_cast<size_t>(std::min(to - from, kMostBytes)), '\0');
  const ssize_t n = pread(fd, text.data(), text.size(), from);
  text.resize(n > 0 ? static_cast<size_t>(n) : 0);
  return text;
}

}  // namespace

bool HasAgreed(const ProcessInfo& process, const std::string& stacks_file) {
  struct stat info {};
  return OpenRegularFile(stacks_file, info).is_open() && CatchesSignal(process.pid, kStacksSignal);
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
    pollfd cancel{cancel_fd, POLLIN, 0};
    if (poll(&cancel, 1, kLookMs) > 0) return absl::CancelledError("ms-worker ends");
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
