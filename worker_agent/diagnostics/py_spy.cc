#include "worker_agent/diagnostics/py_spy.h"

#include <cstdlib>
#include <cstring>
#include <utility>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "common/sys/child/bounded_command.h"
#include "worker_agent/keeper/text.h"

namespace muster::agent {
namespace {

constexpr size_t kMaxPySpyBytes = 256 * 1024;
constexpr size_t kMaxErrorBytes = 200;

// Looks its command up in PATH: 127 if it isn't there.
constexpr char kEnv[] = "/usr/bin/env";
constexpr int kNotThere = 127;

std::string WithoutRelativeFolders(const std::string& search_path) {
  return absl::StrJoin(
      absl::StrSplit(search_path, ':', [](absl::string_view folder) { return absl::StartsWith(folder, "/"); }), ":");
}

// Nothing of ours but what a program needs to be found and to find its own: the rest may hold passwords.
std::vector<std::string> EnvironmentWith(const std::string& search_path) {
  std::vector<std::string> env = {absl::StrCat("PATH=", search_path)};
  for (const char* name : {"HOME", "LANG"}) {
    if (const char* value = std::getenv(name)) env.push_back(absl::StrCat(name, "=", value));
  }
  return env;
}

// The first line that says something.
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
