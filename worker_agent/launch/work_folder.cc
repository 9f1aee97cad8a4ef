#include "worker_agent/launch/work_folder.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <system_error>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "common/base/os_error.h"
#include "common/sys/private_folder.h"
#include "common/sys/runtime_paths.h"
#include "worker_agent/launch_error/launch_error.h"

namespace muster::agent {
namespace {

constexpr size_t kMaxJobInName = 64;
constexpr size_t kFolderHexDigits = 16;
constexpr int kMaxAttempts = 16;
constexpr int kMaxCleaned = 1024;

constexpr char kFolderRemedy[] = "; set TMPDIR to a folder of your own";

absl::Status Failed(const std::string& what, const std::string& path) {
  const int error = errno;
  return Advised(LaunchStep::kWorkFile, FileError(absl::StrCat(what, " ", path), error));
}

int OpenFolder(int parent, const std::string& name) {
  return openat(parent, name.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
}

bool IsSameFolder(int fd, int parent, const std::string& name) {
  struct stat held {};
  struct stat named {};
  return fstat(fd, &held) == 0 && fstatat(parent, name.c_str(), &named, AT_SYMLINK_NOFOLLOW) == 0 &&
         held.st_ino == named.st_ino && held.st_dev == named.st_dev;
}

std::string FolderName(const std::string& job_id, uint64_t incarnation) {
  std::string name = job_id.substr(0, kMaxJobInName);
  for (char& c : name) {
    const bool is_plain = absl::ascii_isalnum(static_cast<unsigned char>(c)) || c == '-' || c == '_' || c == '.';
    if (!is_plain) c = '_';
  }
  if (!name.empty() && name.front() == '.') name.front() = '_';
  return absl::StrCat(name, "-", absl::Hex(incarnation, absl::kZeroPad16));
}

// True if the name is one that MakeLocked gives: FolderName's, perhaps with ".1" of a second attempt at its end.
bool IsFolderName(const std::string& name) {
  const size_t dash = name.rfind('-');
  if (dash == std::string::npos || name.size() < dash + 1 + kFolderHexDigits) return false;
  const std::string digits = name.substr(dash + 1, kFolderHexDigits);
  const std::string rest = name.substr(dash + 1 + kFolderHexDigits);
  return digits.find_first_not_of("0123456789abcdef") == std::string::npos && (rest.empty() || rest.front() == '.');
}

// Removes the work folders that no agent has locked.
void RemoveDead(int parent, const std::string& path) {
  const int listing = dup(parent);
  DIR* dir = listing < 0 ? nullptr : fdopendir(listing);
  if (dir == nullptr) return;
  int cleaned = 0;
  while (const dirent* entry = readdir(dir)) {
    const std::string name = entry->d_name;
    if (!IsFolderName(name) || cleaned >= kMaxCleaned) continue;
    const int fd = OpenFolder(parent, name);
    if (fd < 0) continue;
    // Keep the lock until the folder is gone: an agent that has just made it may not have locked it yet, and must then
    // find out that it is gone (see MakeLocked).
    if (flock(fd, LOCK_EX | LOCK_NB) == 0) {
      std::error_code ignored;
      std::filesystem::remove_all(absl::StrCat(path, "/", name), ignored);
      ++cleaned;
    }
    close(fd);
  }
  closedir(dir);
}

// Makes a new folder and locks it; returns its name and descriptor. Between mkdir and flock another agent's RemoveDead
// may lock and remove the folder; this then tries again under another name.
absl::StatusOr<std::pair<std::string, int>> MakeLocked(int parent, const std::string& base_name) {
  for (int attempt = 0; attempt < kMaxAttempts; ++attempt) {
    const std::string name = attempt == 0 ? base_name : absl::StrCat(base_name, ".", attempt);
    if (mkdirat(parent, name.c_str(), 0700) != 0) {
      if (errno == EEXIST) continue;
      return Failed("cannot make the folder", name);
    }
    const int fd = OpenFolder(parent, name);
    if (fd < 0) continue;
    if (flock(fd, LOCK_EX | LOCK_NB) == 0 && IsSameFolder(fd, parent, name)) return std::make_pair(name, fd);
    close(fd);
  }
  return absl::UnavailableError(
      absl::StrCat("cannot make the folder ", base_name, ": it is there already", kFolderRemedy));
}

}  // namespace

std::string WorkFolder::DefaultBase(const std::map<std::string, std::string>& environment) {
  const auto found = environment.find("TMPDIR");
  if (found == environment.end() || found->second.empty()) return "/tmp";
  return AbsolutePath(found->second, environment).value_or(found->second);
}

std::string WorkFolder::UserFolder(const std::string& base) { return absl::StrCat(base, "/muster-", geteuid()); }

// The caller uses the folder only through the returned descriptor, so that no one can put another one in its place.
absl::StatusOr<UniqueFd> WorkFolder::OpenUserFolder(const std::string& base) {
  const std::string path = UserFolder(base);
  // The owner of a folder above it could replace the path. Only for root is that a danger: its files would go to
  // another user's folder.
  if (geteuid() == 0) {
    const absl::StatusOr<UniqueFd> way = muster::OpenFolder(base, {FolderTrust::kOwned});
    if (absl::IsPermissionDenied(way.status())) {
      return absl::PermissionDeniedError(absl::StrCat(path, " is not used: ", way.status().message(), kFolderRemedy));
    }
  }
  if (mkdir(path.c_str(), 0700) != 0 && errno != EEXIST) return Failed("cannot make the folder", path);
  UniqueFd fd(OpenFolder(AT_FDCWD, path));
  if (!fd.is_open() && (errno == ELOOP || errno == ENOTDIR)) {
    return absl::PermissionDeniedError(
        absl::StrCat(path, " is not a folder (a symbolic link?) and is not used", kFolderRemedy));
  }
  if (!fd.is_open()) return Failed("cannot open the folder", path);
  struct stat info {};
  if (fstat(fd.get(), &info) != 0 || info.st_uid != geteuid()) {
    return absl::PermissionDeniedError(absl::StrCat(path, " belongs to user number ", info.st_uid, ", not to ",
                                                    geteuid(), ", and is not used", kFolderRemedy));
  }
  if ((info.st_mode & 0077) != 0 && fchmod(fd.get(), 0700) != 0)
    return Failed("cannot remove the access of other users (chmod go-rwx) to", path);
  return fd;
}

absl::StatusOr<std::unique_ptr<WorkFolder>> WorkFolder::Create(const std::string& base, const std::string& job_id,
                                                               uint64_t incarnation) {
  const std::string user_folder = UserFolder(base);
  const absl::StatusOr<UniqueFd> parent = OpenUserFolder(base);
  if (!parent.ok()) return parent.status();
  RemoveDead(parent->get(), user_folder);
  const auto made = MakeLocked(parent->get(), FolderName(job_id, incarnation));
  if (!made.ok()) return made.status();
  return std::unique_ptr<WorkFolder>(new WorkFolder(absl::StrCat(user_folder, "/", made->first), made->second));
}

WorkFolder::WorkFolder(std::string path, int lock_fd) : path_(std::move(path)), lock_fd_(lock_fd), owner_(getpid()) {}

WorkFolder::~WorkFolder() {
  if (owner_ == getpid()) {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  close(lock_fd_);
}

}  // namespace muster::agent
