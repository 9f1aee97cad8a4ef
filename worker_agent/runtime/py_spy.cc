#include "worker_agent/runtime/py_spy.h"

#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <utility>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "worker_agent/keeper/text.h"
#include "worker_agent/runtime/bounded_command.h"

namespace muster::agent {
namespace {

constexpr size_t kMostBytes = 256 * 1024;
constexpr size_t kMostErrorBytes = 200;

// Nothing of ours but what a program needs to be found and to find its own: the rest may hold passwords.
std::vector<std::string> Environment() {
  std::vector<std::string> env;
  for (const char* name : {"PATH", "HOME", "LANG"}) {
    if (const char* value = std::getenv(name)) env.push_back(absl::StrCat(name, "=", value));
  }
  return env;
}

// The first line that says something.
std::string FirstLine(const std::string& errors) {
  const std::string text = CleanText(std::string(absl::StripAsciiWhitespace(errors)), kMostErrorBytes, true);
  return text.substr(0, text.find('\n'));
}

}  // namespace

std::string FindPySpy(const std::string& search_path) {
  const std::vector<std::string> folders = absl::StrSplit(search_path, ':');
  for (const std::string& folder : folders) {
    if (!folder.starts_with('/')) continue;
    const std::string path = absl::StrCat(folder, "/py-spy");
    struct stat info {};
    if (stat(path.c_str(), &info) == 0 && S_ISREG(info.st_mode) && access(path.c_str(), X_OK) == 0) return path;
  }
  return "";
}

absl::StatusOr<std::string> RunPySpy(const std::string& program, pid_t pid, MonotonicTime deadline, int cancel_fd,
                                     const Clock& clock) {
  CommandResult result = RunBounded(
      {{program, "dump", "--nonblocking", "--pid", absl::StrCat(pid)}, Environment(), kMostBytes, deadline, cancel_fd},
      clock);
  switch (result.end) {
    case CommandResult::End::kExited:
      if (result.code == 0 && !result.output.empty()) return std::move(result.output);
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
