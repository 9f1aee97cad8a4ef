#include "worker_agent/keeper/files/run_logs.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <climits>
#include <cstring>
#include <optional>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/time/time.h"
#include "common/sys/private_folder.h"
#include "common/sys/wait.h"

namespace muster::agent {
namespace {

constexpr char kLatest[] = "latest";
constexpr char kFailure[] = "failure.json";
constexpr char kAside[] = ".old";
constexpr char kLinkInTheMaking[] = ".muster-link-";
constexpr int64_t kMaxOpenedMs = int64_t{253'402'300'799} * 1000;  // 9999-12-31
constexpr size_t kMaxListed = 20'000;                              // entries of a folder that are looked at
constexpr int kLockTries = 20;
constexpr absl::Duration kLockPause = absl::Milliseconds(25);

bool IsDigits(std::string_view text) {
  return !text.empty() && text.size() <= 20 && std::all_of(text.begin(), text.end(), absl::ascii_isdigit);
}

// The age of a run, for sorting: first its time, then its number.
using Age = std::tuple<std::string, uint64_t>;

std::optional<Age> AgeOf(const std::string& name) {
  const std::vector<std::string> parts = absl::StrSplit(name, '-');
  uint64_t run = 0;
  if (parts.size() != 2 || !IsDigits(parts[0]) || !absl::SimpleAtoi(parts[0], &run)) return std::nullopt;
  const std::string_view time = parts[1];
  if (time.size() != 20 || time[8] != 'T' || time[15] != '.' || time[19] != 'Z') return std::nullopt;
  if (!IsDigits(time.substr(0, 8)) || !IsDigits(time.substr(9, 6)) || !IsDigits(time.substr(16, 3)))
    return std::nullopt;
  return Age{parts[1], run};
}

// Returns true for worker_<rank>.log, server_<rank>.log and failure.json.
bool IsOurFile(std::string_view name) {
  if (name == kFailure) return true;
  if (!name.ends_with(".log")) return false;
  name.remove_suffix(4);
  for (const std::string_view role : {"worker_", "server_"}) {
    if (name.starts_with(role)) return IsDigits(name.substr(role.size()));
  }
  return false;
}

// Returns the age of the run that a link of ours leads to: "latest" to "<run>", others to "<job>/<run>/<file>".
std::optional<Age> AgeOfTarget(const std::string& link, const std::string& target) {
  if (link == kLatest) return AgeOf(target);
  const std::vector<std::string> parts = absl::StrSplit(target, '/');
  if (parts.size() != 3 || parts[0].empty() || parts[0] == ".." || parts[2] != link) return std::nullopt;
  return AgeOf(parts[1]);
}

// Returns the target of a link; empty: it is no link.
std::string ReadLink(const UniqueFd& folder, const std::string& name) {
  std::array<char, PATH_MAX> target{};
  const ssize_t size = ::readlinkat(folder.get(), name.c_str(), target.data(), target.size());
  return size <= 0 ? "" : std::string(target.data(), static_cast<size_t>(size));
}

// Frees a link's name from a file that Muster 0.1, which made no links, has left. Returns an empty text if the name is
// free now, else a line for the user.
std::string PutAside(const UniqueFd& folder, const std::string& folder_path, const std::string& name,
                     const struct stat& info) {
  const std::string path = absl::StrCat(folder_path, "/", name);
  const std::string aside = absl::StrCat(name, kAside);
  struct stat other {};
  const bool is_aside_free =
      ::fstatat(folder.get(), aside.c_str(), &other, AT_SYMLINK_NOFOLLOW) != 0 && errno == ENOENT;
  if (S_ISREG(info.st_mode) && info.st_uid == ::geteuid() && is_aside_free &&
      ::renameat(folder.get(), name.c_str(), folder.get(), aside.c_str()) == 0) {
    return {};
  }
  return absl::StrCat(
      path, " is no link of Muster's and stays as it is: remove it, and the next run makes a link to its own ",
      name == kLatest ? "folder" : "file", " there");
}

// Makes the link `name` lead to `target`. Returns an empty text, or a line for the user if that failed.
std::string ReplaceLink(const UniqueFd& folder, const std::string& folder_path, const std::string& name,
                        const std::string& target) {
  struct stat info {};
  if (::fstatat(folder.get(), name.c_str(), &info, AT_SYMLINK_NOFOLLOW) == 0) {
    const std::string present = S_ISLNK(info.st_mode) ? ReadLink(folder, name) : "";
    if (present == target) return {};
    if (const std::optional<Age> age = AgeOfTarget(name, present)) {
      const bool is_there = ::faccessat(folder.get(), present.c_str(), F_OK, AT_SYMLINK_NOFOLLOW) == 0;
      if (is_there && *age > *AgeOfTarget(name, target)) return {};  // a newer run has begun meanwhile
    } else if (std::string notice = PutAside(folder, folder_path, name, info); !notice.empty()) {
      return notice;
    }
  }
  const auto failed = [&] {
    return absl::StrCat("can't make the link ", folder_path, "/", name, " -> ", target, ": ", std::strerror(errno));
  };
  timespec now{};
  ::clock_gettime(CLOCK_MONOTONIC, &now);  // read only to make a name that no other node uses
  const std::string temporary = absl::StrCat(kLinkInTheMaking, ::getpid(), "-", now.tv_sec, ".", now.tv_nsec);
  if (::symlinkat(target.c_str(), folder.get(), temporary.c_str()) != 0) return failed();
  if (::renameat(folder.get(), temporary.c_str(), folder.get(), name.c_str()) == 0) return {};
  std::string notice = failed();
  ::unlinkat(folder.get(), temporary.c_str(), 0);
  return notice;
}

UniqueFd OpenMarker(const UniqueFd& folder, int flags) {
  UniqueFd marker(
      ::openat(folder.get(), RunLogs::kMarker, flags | O_RDWR | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC, 0600));
  struct stat info {};
  if (marker.is_open() && (::fstat(marker.get(), &info) != 0 || !S_ISREG(info.st_mode))) marker.reset();
  return marker;
}

bool IsStillThere(const UniqueFd& folder, const UniqueFd& marker) {
  struct stat held {};
  struct stat named {};
  return ::fstat(marker.get(), &held) == 0 &&
         ::fstatat(folder.get(), RunLogs::kMarker, &named, AT_SYMLINK_NOFOLLOW) == 0 && held.st_ino == named.st_ino &&
         held.st_dev == named.st_dev;
}

// Locks the marker, so that no node prunes the folder from here on. If another node is just pruning it, makes the
// folder again.
UniqueFd LockMarker(const std::string& path) {
  for (int i = 0; i < kLockTries; ++i) {
    if (i > 0) Pause(kLockPause);
    const absl::StatusOr<UniqueFd> folder = OpenFolder(path, {FolderTrust::kShared, /*makes_missing=*/true});
    if (!folder.ok()) return {};
    UniqueFd marker = OpenMarker(*folder, O_CREAT);
    if (!marker.is_open() && errno == ENOENT) continue;  // the folder was removed since it was opened
    if (!marker.is_open()) return {};
    if (::flock(marker.get(), LOCK_SH | LOCK_NB) == 0) {
      if (!IsStillThere(*folder, marker)) continue;
    } else if (errno == EWOULDBLOCK) {
      continue;
    }
    ::futimens(marker.get(), nullptr);  // sets its time by the file system's own clock
    return marker;
  }
  return {};
}

// Returns the names in a folder. Nothing: it can't be read, or contains more than kMaxListed.
std::optional<std::vector<std::string>> List(const UniqueFd& folder) {
  const int listing = ::openat(folder.get(), ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  DIR* dir = listing < 0 ? nullptr : ::fdopendir(listing);
  if (dir == nullptr) return std::nullopt;
  std::vector<std::string> names;
  errno = 0;
  while (const dirent* entry = ::readdir(dir)) {
    const std::string_view name = entry->d_name;
    if (name != "." && name != "..") names.emplace_back(name);
    if (names.size() > kMaxListed) break;
    errno = 0;
  }
  const bool is_whole = errno == 0 && names.size() <= kMaxListed;
  ::closedir(dir);
  if (!is_whole) return std::nullopt;
  return names;
}

// Removes the folders of one job beyond the newest `keep`. The first case that applies decides about a folder:
//
//   it is a link, another user's, or on another file system                stays, and does not count
//   it has no marker of this user                                          stays, and does not count
//   it is among the newest                                                 stays
//   its marker is locked, or can't be locked, or was just removed          stays
//   it contains something that Muster does not write                       stays, whole
//   something in it was written within the last hour                       stays
//   otherwise                                                              its files are removed, then the folder
class Pruner {
 public:
  Pruner(const RunFolder& own, const UniqueFd& base, const UniqueFd& job, int64_t now)
      : own_(own), base_(base), job_(job), now_(now) {}

  void Run() {
    std::vector<std::pair<Age, std::string>> runs;
    for (std::string& name : List(job_).value_or(std::vector<std::string>())) {
      if (std::optional<Age> age = AgeOf(name)) runs.emplace_back(*std::move(age), std::move(name));
    }
    std::sort(runs.rbegin(), runs.rend());
    uint32_t kept = 0;
    for (const auto& [age, name] : runs) {
      const UniqueFd folder(
          ::openat(job_.get(), name.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
      if (!folder.is_open() || !IsOwn(folder)) continue;
      const UniqueFd marker = OpenMarker(folder, 0);
      if (!marker.is_open() || !IsOwn(marker)) continue;
      if (name != own_.name && kept >= own_.keep) {
        Prune(name, folder, marker);
      } else {
        ++kept;
      }
    }
  }

 private:
  bool IsOwn(const UniqueFd& fd) const {
    struct stat info {};
    struct stat job {};
    return ::fstat(fd.get(), &info) == 0 && ::fstat(job_.get(), &job) == 0 && info.st_uid == ::geteuid() &&
           info.st_dev == job.st_dev;
  }

  bool IsQuietFile(const UniqueFd& folder, const std::string& name) const {
    struct stat info {};
    if (::fstatat(folder.get(), name.c_str(), &info, AT_SYMLINK_NOFOLLOW) != 0) return errno == ENOENT;
    return (name == RunLogs::kMarker || IsOurFile(name)) && S_ISREG(info.st_mode) &&
           info.st_mtim.tv_sec < now_ - RunLogs::kQuietSeconds;
  }

  void Prune(const std::string& name, const UniqueFd& folder, const UniqueFd& marker) const {
    if (::flock(marker.get(), LOCK_EX | LOCK_NB) != 0 || !IsStillThere(folder, marker)) return;
    const std::optional<std::vector<std::string>> files = List(folder);
    if (!files || !std::all_of(files->begin(), files->end(),
                               [&](const std::string& file) { return IsQuietFile(folder, file); })) {
      return;
    }
    for (const std::string& file : *files) {
      if (file == RunLogs::kMarker) continue;
      if (::unlinkat(folder.get(), file.c_str(), 0) != 0 && errno != ENOENT) return;
      if (ReadLink(base_, file) == absl::StrCat(own_.job_id, "/", name, "/", file)) {
        ::unlinkat(base_.get(), file.c_str(), 0);
      }
    }
    // Removes the marker last, so that another pruner can go on if this one is interrupted.
    ::unlinkat(folder.get(), RunLogs::kMarker, 0);
    ::unlinkat(job_.get(), name.c_str(), AT_REMOVEDIR);
  }

  const RunFolder& own_;
  const UniqueFd& base_;
  const UniqueFd& job_;
  const int64_t now_;
};

}  // namespace

bool IsTakenInBase(std::string_view name) {
  if (name == "scheduler.log" || name.starts_with(kLinkInTheMaking)) return true;
  if (name.ends_with(kAside)) name.remove_suffix(std::strlen(kAside));
  return IsOurFile(name);
}

std::string RunFolder::path() const { return absl::StrCat(base, "/", job_id, "/", name); }

std::string RunFolderName(uint64_t run, int64_t opened_unix_ms) {
  const bool is_known = opened_unix_ms > 0 && opened_unix_ms <= kMaxOpenedMs;
  return absl::StrCat(
      run, "-",
      absl::FormatTime("%Y%m%dT%H%M%E3SZ", absl::FromUnixMillis(is_known ? opened_unix_ms : 0), absl::UTCTimeZone()));
}

std::string RunLogs::Begin(const RunFolder& folder) {
  folder_ = folder;
  marker_ = LockMarker(folder.path());
  const std::string job_path = absl::StrCat(folder.base, "/", folder.job_id);
  const absl::StatusOr<UniqueFd> base = OpenFolder(folder.base, {FolderTrust::kShared});
  const absl::StatusOr<UniqueFd> job = OpenFolder(job_path, {FolderTrust::kShared});
  if (!base.ok() || !job.ok()) return {};  // opening a log will say why
  if (!marker_.is_open()) {
    return absl::StrCat("the folder ", folder.path(), " can't be marked as Muster's (", kMarker,
                        "), so --keep_logs never removes it");
  }
  const std::optional<Age> failed = AgeOfTarget(kFailure, ReadLink(*base, kFailure));
  if (failed && *failed < AgeOf(folder.name).value_or(Age())) ::unlinkat(base->get(), kFailure, 0);
  std::string notice = ReplaceLink(*job, job_path, kLatest, folder.name);
  // As root, prunes only where no other user may have put files.
  const FolderTrust trust = ::geteuid() == 0 ? FolderTrust::kTrusted : FolderTrust::kShared;
  struct stat now {};
  if (folder.keep > 0 && ::fstat(marker_.get(), &now) == 0 && OpenFolder(job_path, {trust}).ok()) {
    Pruner(folder_, *base, *job, now.st_mtim.tv_sec).Run();
  }
  return notice;
}

std::string RunLogs::LinkNewest(const std::string& path) const {
  const auto [folder_path, name] = SplitPath(path);
  if (folder_.name.empty() || folder_path != folder_.path() + "/" || !IsOurFile(name)) return {};
  const absl::StatusOr<UniqueFd> base = OpenFolder(folder_.base, {FolderTrust::kShared});
  if (!base.ok()) return {};
  return ReplaceLink(*base, folder_.base, name, absl::StrCat(folder_.job_id, "/", folder_.name, "/", name));
}

}  // namespace muster::agent
