#include "worker_agent/diagnostics/kernel_state.h"

#include <dirent.h>
#include <fcntl.h>
#include <unistd.h>

#include <cstdint>
#include <string_view>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "common/base/unique_fd.h"

namespace muster::agent {
namespace {

constexpr size_t kMaxThreads = 64;
constexpr size_t kMaxStatusBytes = 64 * 1024;  // a status may name thousands of groups

std::string ReadProc(const std::string& path) {
  const UniqueFd fd(open(path.c_str(), O_RDONLY | O_CLOEXEC));
  std::string text;
  char bytes[4096];
  while (fd.is_open() && text.size() < kMaxStatusBytes) {
    const ssize_t n = read(fd.get(), bytes, sizeof bytes);
    if (n <= 0) break;
    text.append(bytes, static_cast<size_t>(n));
  }
  return text;
}

// Returns the value of "Name:\tvalue"; empty when there is none.
std::string Field(const std::string& status, const std::string& name) {
  const std::vector<std::string> lines = absl::StrSplit(status, '\n');
  for (const std::string& line : lines) {
    if (line.starts_with(name + ":")) return std::string(absl::StripAsciiWhitespace(line.substr(name.size() + 1)));
  }
  return "";
}

// Returns "python: S (sleeping), waits in futex_wait_queue", for a process's folder or a thread's.
std::string StateLine(const std::string& folder, const std::string& status) {
  const std::string channel = ReadProc(absl::StrCat(folder, "/wchan"));
  return absl::StrCat(Field(status, "Name"), ": ", Field(status, "State"),
                      channel.empty() || channel == "0" ? "" : absl::StrCat(", waits in ", channel));
}

std::vector<std::string> NumbersIn(const std::string& folder) {
  std::vector<std::string> names;
  DIR* listing = opendir(folder.c_str());
  if (listing == nullptr) return names;
  while (const dirent* entry = readdir(listing)) {
    if (absl::ascii_isdigit(static_cast<unsigned char>(entry->d_name[0]))) names.emplace_back(entry->d_name);
  }
  closedir(listing);
  return names;
}

}  // namespace

std::optional<std::string> KernelText(pid_t pid) {
  const std::string folder = absl::StrCat("/proc/", pid);
  const std::string status = ReadProc(absl::StrCat(folder, "/status"));
  if (status.empty()) return std::nullopt;
  std::string text = absl::StrCat(StateLine(folder, status), "\n");
  const std::vector<std::string> threads = NumbersIn(absl::StrCat(folder, "/task"));
  if (threads.size() <= 1) return text;
  absl::StrAppend(&text, threads.size(), " threads", threads.size() > kMaxThreads ? ", the first of them" : "", ":\n");
  for (size_t i = 0; i < threads.size() && i < kMaxThreads; ++i) {
    const std::string thread = absl::StrCat(folder, "/task/", threads[i]);
    const std::string thread_status = ReadProc(absl::StrCat(thread, "/status"));
    if (thread_status.empty()) continue;  // it has ended
    absl::StrAppend(&text, "  ", threads[i], " ", StateLine(thread, thread_status), "\n");
  }
  return text;
}

bool CatchesSignal(pid_t pid, int signal) {
  const std::string caught = Field(ReadProc(absl::StrCat("/proc/", pid, "/status")), "SigCgt");
  uint64_t mask = 0;
  return absl::SimpleHexAtoi(caught, &mask) && (mask >> (signal - 1) & 1) != 0;
}

bool IsPython(pid_t pid) {
  char path[4096];
  const ssize_t length = readlink(absl::StrCat("/proc/", pid, "/exe").c_str(), path, sizeof path);
  if (length <= 0) return false;
  const std::string_view program(path, static_cast<size_t>(length));
  const std::string_view name = program.substr(program.rfind('/') + 1);
  return name.starts_with("python") || name.starts_with("pypy");
}

std::vector<pid_t> ChildrenOf(pid_t pid) {
  std::vector<pid_t> children;
  const std::string text = ReadProc(absl::StrCat("/proc/", pid, "/task/", pid, "/children"));
  for (const absl::string_view word : absl::StrSplit(text, ' ', absl::SkipWhitespace())) {
    pid_t child = 0;
    if (absl::SimpleAtoi(word, &child)) children.push_back(child);
  }
  return children;
}

}  // namespace muster::agent
