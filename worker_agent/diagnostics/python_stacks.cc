#include "worker_agent/diagnostics/python_stacks.h"

#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <system_error>
#include <utility>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "common/sys/child/bounded_command.h"
#include "common/sys/file_io.h"
#include "common/sys/wait.h"
#include "worker_agent/diagnostics/kernel_state.h"
#include "worker_agent/keeper/text.h"

namespace muster::agent {

namespace {

constexpr absl::Duration kTraceLook = absl::Milliseconds(20);
constexpr absl::Duration kQuiet = absl::Milliseconds(200);  // a file unchanged for so long is taken as complete
constexpr off_t kMaxTraceBytes = 1024 * 1024;

std::string ReadFrom(int fd, off_t from, off_t to) {
  std::string text(static_cast<size_t>(std::min(to - from, kMaxTraceBytes)), '\0');
  const ssize_t n = pread(fd, text.data(), text.size(), from);
  text.resize(n > 0 ? static_cast<size_t>(n) : 0);
  return text;
}

}  // namespace

// To catch the signal is not enough: a launcher may catch all signals. A process that has called enable_stacks() also
// keeps the file open.
bool HasAgreed(const ProcessInfo& process, const std::string& stacks_file) {
  if (!CatchesSignal(process.pid, kStacksSignal)) return false;
  std::error_code error;
  for (std::filesystem::directory_iterator entry(absl::StrCat("/proc/", process.pid, "/fd"), error), end;
       !error && entry != end; entry.increment(error)) {
    std::error_code unreadable;  // the descriptor was closed meanwhile
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

namespace {

constexpr size_t kMaxPySpyBytes = 256 * 1024;
constexpr size_t kMaxErrorBytes = 200;

// env finds py-spy in PATH; it exits with 127 if there is none.
constexpr char kEnv[] = "/usr/bin/env";
constexpr int kNotThere = 127;

std::string WithoutRelativeFolders(const std::string& search_path) {
  return absl::StrJoin(
      absl::StrSplit(search_path, ':', [](absl::string_view folder) { return absl::StartsWith(folder, "/"); }), ":");
}

// Returns py-spy's environment. It has only PATH, HOME and LANG, since other variables may contain passwords.
std::vector<std::string> EnvironmentWith(const std::string& search_path) {
  std::vector<std::string> env = {absl::StrCat("PATH=", search_path)};
  for (const char* name : {"HOME", "LANG"}) {
    if (const char* value = std::getenv(name)) env.push_back(absl::StrCat(name, "=", value));
  }
  return env;
}

// Returns the first line that is not empty.
std::string FirstLine(const std::string& errors) {
  const std::string text = CleanText(std::string(absl::StripAsciiWhitespace(errors)), kMaxErrorBytes, true);
  return text.substr(0, text.find('\n'));
}

}  // namespace

absl::StatusOr<std::string> RunPySpy(const std::string& search_path, pid_t pid, MonotonicTime deadline, int cancel_fd,
                                     const Clock& clock) {
  const std::string folders = WithoutRelativeFolders(search_path);
  if (folders.empty()) return absl::NotFoundError("PATH is empty");
  CommandResult result = RunBounded({{kEnv, "py-spy", "dump", "--nonblocking", "--pid", absl::StrCat(pid)},
                                     EnvironmentWith(folders),
                                     kMaxPySpyBytes,
                                     deadline,
                                     cancel_fd},
                                    clock);
  switch (result.end) {
    case CommandResult::End::kExited:
      if (result.code == 0 && !result.output.empty()) return std::move(result.output);
      if (result.code == kNotThere) return absl::NotFoundError(FirstLine(result.errors));
      return absl::UnavailableError(absl::StrCat("exit code ", result.code, ": ", FirstLine(result.errors)));
    case CommandResult::End::kSignaled:
      return absl::UnavailableError(absl::StrCat("it died of signal ", result.code));
    case CommandResult::End::kTimedOut:
      return absl::DeadlineExceededError("it took too long");
    case CommandResult::End::kCancelled:
      return absl::CancelledError("ms-worker ends");
    case CommandResult::End::kNotStarted:
      break;
  }
  return absl::UnavailableError(absl::StrCat("it can't be started: ", std::strerror(result.code)));
}

}  // namespace muster::agent
