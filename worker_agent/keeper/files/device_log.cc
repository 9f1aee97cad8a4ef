#include "worker_agent/keeper/files/device_log.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "common/base/limits.h"
#include "common/base/unique_fd.h"
#include "common/sys/file_io.h"
#include "worker_agent/core/process_end.h"
#include "worker_agent/keeper/text.h"

namespace muster::agent {
namespace {

constexpr size_t kMaxReadBytes = 64 * 1024;
constexpr size_t kMaxFiles = 20'000;
constexpr size_t kMaxErrors = 4;

struct Newest {
  std::string path;
  timespec changed{};
};

// Finds the newest log of the process. There may be several, because a full one is followed by another.
void LookInto(const std::string& folder, const std::string& prefix, Newest& newest) {
  DIR* dir = ::opendir(folder.c_str());
  if (dir == nullptr) return;
  size_t count = 0;
  while (const dirent* entry = ::readdir(dir)) {
    if (++count > kMaxFiles) break;
    if (!absl::StartsWith(entry->d_name, prefix)) continue;
    struct stat info {};
    if (::fstatat(::dirfd(dir), entry->d_name, &info, AT_SYMLINK_NOFOLLOW) != 0 || !S_ISREG(info.st_mode)) continue;
    const bool is_newer = info.st_mtim.tv_sec != newest.changed.tv_sec ? info.st_mtim.tv_sec > newest.changed.tv_sec
                                                                       : info.st_mtim.tv_nsec > newest.changed.tv_nsec;
    if (newest.path.empty() || is_newer) newest = {absl::StrCat(folder, "/", entry->d_name), info.st_mtim};
  }
  ::closedir(dir);
}

std::string ReadEnd(const std::string& path) {
  struct stat info {};
  const UniqueFd fd = OpenRegularFile(path, info);
  if (!fd.is_open()) return {};
  std::string text(kMaxReadBytes, '\0');
  const off_t begin = std::max<off_t>(0, info.st_size - static_cast<off_t>(text.size()));
  size_t size = 0;
  while (size < text.size()) {
    const ssize_t n = ::pread(fd.get(), text.data() + size, text.size() - size, begin + static_cast<off_t>(size));
    if (n == 0 || (n < 0 && errno != EINTR)) break;
    if (n > 0) size += static_cast<size_t>(n);
  }
  text.resize(size);
  return text;
}

std::vector<std::string> LastErrors(const std::string& text) {
  std::vector<std::string> errors;
  for (const absl::string_view line : absl::StrSplit(text, '\n')) {
    if (!absl::StrContains(line, "[ERROR]")) continue;
    errors.push_back(CleanText({line.data(), line.size()}, kMaxLastLineBytes));
    if (errors.size() > kMaxErrors) errors.erase(errors.begin());
  }
  return errors;
}

std::string ValueOf(const std::vector<std::string>& environment, const std::string& name) {
  for (const std::string& variable : environment) {
    absl::string_view value = variable;
    if (absl::ConsumePrefix(&value, name) && absl::ConsumePrefix(&value, "=")) return std::string(value);
  }
  return "";
}

}  // namespace

std::string ReadDeviceLog(const std::string& folder, int64_t pid) {
  if (pid <= 0) return {};
  Newest newest;
  for (const char* part : {"/debug/plog", "/run/plog"}) {
    LookInto(folder + part, absl::StrCat("plog-", pid, "_"), newest);
  }
  if (newest.path.empty()) return {};
  const std::vector<std::string> errors = LastErrors(ReadEnd(newest.path));
  if (errors.empty()) return {};
  return absl::StrCat(CleanText(absl::StrCat(kDeviceLogLine, newest.path, ":"), kMaxLastLineBytes), "\n",
                      absl::StrJoin(errors, "\n"));
}

void PutInFront(const std::string& text, std::vector<std::string>& last_lines) {
  if (text.empty()) return;
  std::vector<std::string> lines = absl::StrSplit(text, '\n');
  lines.resize(std::min(lines.size(), kMaxErrors + 1));
  const size_t room = kMaxLastLines - lines.size();
  if (last_lines.size() > room) {
    last_lines.erase(last_lines.begin(), last_lines.end() - static_cast<std::ptrdiff_t>(room));
  }
  last_lines.insert(last_lines.begin(), lines.begin(), lines.end());
}

std::string DeviceLogFolder(const std::vector<std::string>& environment) {
  const std::string set = ValueOf(environment, "ASCEND_PROCESS_LOG_PATH");
  if (!set.empty()) return set;
  const std::string home = ValueOf(environment, "HOME");
  return home.empty() ? "" : home + "/ascend/log";
}

}  // namespace muster::agent
