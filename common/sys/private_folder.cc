// | part of the path               | kShared                         | kTrusted and kPrivate                        |
// |--------------------------------|---------------------------------|----------------------------------------------|
// | a folder of ours or root's     | passed                          | passed, unless others may write to it and it |
// |                                |                                 | is not sticky: then refused                  |
// | a folder of another user       | passed                          | refused                                      |
// | a link of ours or root's       | followed                        | followed                                     |
// | a link of another user         | followed to that user's folders | refused                                      |
// | the last part: a link          | as above                        | kPrivate: refused                            |
// | the last part: root's          | passed                          | kPrivate: refused, unless we are root        |
// | the last part: open to others  | passed                          | kPrivate: others' write permission removed   |
//
// kOwned is like kTrusted, without the rules about others' write permission.
#include "common/sys/private_folder.h"

#include <fcntl.h>
#include <grp.h>
#include <pwd.h>
#include <sys/stat.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <system_error>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "common/base/os_error.h"

namespace muster {
namespace {

constexpr int kMaxLinks = 16;  // that lead to each other
constexpr mode_t kOthersWrite = S_IWGRP | S_IWOTH;

absl::Status FolderFailed(const std::string& what, const std::string& path) {
  const int error = errno;
  return FileError(absl::StrCat(what, " ", path), error);
}

// True for a group that many systems (those with umask 002) make for each user, with the user's name and number. Never
// true for root's group, because in many containers that is the main group of all users.
bool IsGroupOfOneUser(gid_t gid, uid_t uid) {
  if (gid == 0 || gid != uid) return false;
  std::array<char, 16 * 1024> user_bytes{};
  std::array<char, 16 * 1024> group_bytes{};
  passwd user{};
  passwd* found_user = nullptr;
  group entry{};
  group* found_group = nullptr;
  if (getpwuid_r(uid, &user, user_bytes.data(), user_bytes.size(), &found_user) != 0 || found_user == nullptr ||
      user.pw_gid != gid || getgrgid_r(gid, &entry, group_bytes.data(), group_bytes.size(), &found_group) != 0 ||
      found_group == nullptr || std::strcmp(entry.gr_name, user.pw_name) != 0) {
    return false;
  }
  for (char** member = entry.gr_mem; *member != nullptr; ++member) {
    if (std::strcmp(*member, user.pw_name) != 0) return false;
  }
  return true;
}

bool CanOthersWrite(const struct stat& info) {
  if ((info.st_mode & S_IWOTH) != 0) return true;
  return (info.st_mode & S_IWGRP) != 0 && !IsGroupOfOneUser(info.st_gid, info.st_uid);
}

class Walk {
 public:
  explicit Walk(const FolderOptions& options) : options_(options) {}

  // `shown` is the path of `from` for messages; it ends with a slash unless it is the current folder. `makes_missing`
  // is as in FolderOptions, but false after another user's link.
  absl::StatusOr<UniqueFd> Descend(UniqueFd from, std::string shown, const std::string& path, bool is_whole,
                                   bool makes_missing);

 private:
  bool IsOurs(uid_t owner) const { return owner == options_.self || owner == 0; }
  absl::Status Check(int fd, const std::string& shown, bool is_last) const;
  absl::StatusOr<UniqueFd> Follow(const UniqueFd& from, const std::string& shown, const std::string& name,
                                  bool makes_missing);

  const FolderOptions& options_;
  int links_ = 0;
};

absl::Status Walk::Check(int fd, const std::string& shown, bool is_last) const {
  if (options_.trust == FolderTrust::kShared) return absl::OkStatus();
  struct stat info {};
  if (fstat(fd, &info) != 0) return FolderFailed("cannot look at the folder", shown);
  const bool must_be_own = is_last && options_.trust == FolderTrust::kPrivate;
  if (must_be_own ? info.st_uid != options_.self : !IsOurs(info.st_uid)) {
    return absl::PermissionDeniedError(absl::StrCat("the folder ", shown, " belongs to another user (uid ", info.st_uid,
                                                    ", not ", options_.self, "), and that user decides what is in it"));
  }
  if (options_.trust == FolderTrust::kOwned || !CanOthersWrite(info)) return absl::OkStatus();
  if (must_be_own) {
    // fchmod does not work on an O_PATH descriptor, so open the folder again.
    const UniqueFd open_fd(openat(fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    if (open_fd.is_open() && fchmod(open_fd.get(), info.st_mode & 07777 & ~kOthersWrite) == 0) return absl::OkStatus();
    return FolderFailed("cannot remove others' write permission (chmod go-w) from the folder", shown);
  }
  if ((info.st_mode & S_ISVTX) != 0) return absl::OkStatus();
  return absl::PermissionDeniedError(absl::StrCat("others can write to the folder ", shown,
                                                  ": chmod go-w it, or chmod +t if others must write there"));
}

absl::StatusOr<UniqueFd> Walk::Follow(const UniqueFd& from, const std::string& shown, const std::string& name,
                                      bool makes_missing) {
  const std::string path = absl::StrCat(shown, name);
  // Keep the link open while it is checked and read, because another file may get its name meanwhile.
  const UniqueFd held(openat(from.get(), name.c_str(), O_PATH | O_NOFOLLOW | O_CLOEXEC));
  struct stat link {};
  if (!held.is_open() || fstat(held.get(), &link) != 0) return FolderFailed("cannot look at", path);
  const bool is_foreign = !IsOurs(link.st_uid);
  if (is_foreign && options_.trust != FolderTrust::kShared) {
    return absl::PermissionDeniedError(
        absl::StrCat(path, " is a symbolic link of another user (uid ", link.st_uid, ") and is not followed"));
  }
  std::array<char, 4096> target{};
  const ssize_t size = readlinkat(held.get(), "", target.data(), target.size());
  if (size < 0) return FolderFailed("cannot read the symbolic link", path);
  if (++links_ > kMaxLinks || size == static_cast<ssize_t>(target.size())) {
    return absl::UnavailableError(absl::StrCat("too many or too long symbolic links at ", path));
  }
  const std::string to(target.data(), static_cast<size_t>(size));
  UniqueFd start(to.starts_with('/') ? open("/", O_PATH | O_DIRECTORY | O_CLOEXEC)
                                     : openat(from.get(), ".", O_PATH | O_DIRECTORY | O_CLOEXEC));
  if (!start.is_open()) return FolderFailed("cannot follow the symbolic link", path);
  absl::StatusOr<UniqueFd> led =
      Descend(std::move(start), to.starts_with('/') ? "/" : shown, to, false, makes_missing && !is_foreign);
  struct stat info {};
  if (!led.ok() || !is_foreign || (fstat(led->get(), &info) == 0 && info.st_uid == link.st_uid)) return led;
  return absl::PermissionDeniedError(absl::StrCat(path, " is a symbolic link of another user (uid ", link.st_uid,
                                                  ") to a folder that is not that user's, and is not followed"));
}

absl::StatusOr<UniqueFd> Walk::Descend(UniqueFd from, std::string shown, const std::string& path, bool is_whole,
                                       bool makes_missing) {
  const std::vector<std::string> names = absl::StrSplit(path, '/', absl::SkipEmpty());
  if (absl::Status status = Check(from.get(), shown.empty() ? "." : shown, is_whole && names.empty()); !status.ok()) {
    return status;
  }
  for (size_t i = 0; i < names.size(); ++i) {
    const std::string& name = names[i];
    const bool is_last = is_whole && i + 1 == names.size();
    const mode_t mode = options_.trust == FolderTrust::kShared ? 0777 : 0700;
    // A failed mkdir does not matter if the folder already exists.
    const int not_made = makes_missing && mkdirat(from.get(), name.c_str(), mode) != 0 ? errno : 0;
    struct stat info {};
    if (fstatat(from.get(), name.c_str(), &info, AT_SYMLINK_NOFOLLOW) != 0) {
      if (not_made != 0 && not_made != EEXIST) errno = not_made;
      return FolderFailed(makes_missing ? "cannot make the folder" : "cannot open the folder", shown + name);
    }
    if (S_ISLNK(info.st_mode) && is_last && options_.trust == FolderTrust::kPrivate) {
      return absl::PermissionDeniedError(absl::StrCat(shown, name, " is a symbolic link, not a folder"));
    }
    absl::StatusOr<UniqueFd> next = UniqueFd();
    if (S_ISLNK(info.st_mode)) {
      next = Follow(from, shown, name, makes_missing);
      if (!next.ok()) return next.status();
    } else {
      next->reset(openat(from.get(), name.c_str(), O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
      if (!next->is_open()) return FolderFailed("cannot open the folder", shown + name);
    }
    if (absl::Status status = Check(next->get(), shown + name, is_last); !status.ok()) return status;
    from = *std::move(next);
    absl::StrAppend(&shown, name, "/");
  }
  return from;
}

// Opens a regular file or a character device. Refuses links, pipes, and files with more than one name.
absl::StatusOr<UniqueFd> OpenUnlinked(const UniqueFd& folder, const std::string& path, const std::string& name,
                                      int flags, mode_t mode, struct stat& info) {
  UniqueFd fd(openat(folder.get(), name.c_str(), flags | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC, mode));
  if (!fd.is_open() && errno == ELOOP) {
    return absl::FailedPreconditionError(absl::StrCat(path, " is a symbolic link and is not followed: remove it"));
  }
  if (!fd.is_open()) return FolderFailed("cannot open", path);
  if (fstat(fd.get(), &info) != 0) return FolderFailed("cannot look at", path);
  if (!S_ISREG(info.st_mode) && !S_ISCHR(info.st_mode)) {  // a device is no danger: only root can make one
    return absl::FailedPreconditionError(absl::StrCat(path, " is not a regular file: remove it"));
  }
  if (info.st_nlink > 1) {
    return absl::FailedPreconditionError(absl::StrCat(path, " has another name elsewhere (a hard link): remove it"));
  }
  return fd;
}

absl::StatusOr<UniqueFd> OpenRegular(const UniqueFd& folder, const std::string& path, const std::string& name,
                                     int flags, mode_t mode, struct stat& info) {
  absl::StatusOr<UniqueFd> fd = OpenUnlinked(folder, path, name, flags, mode, info);
  if (!fd.ok() || S_ISREG(info.st_mode)) return fd;
  return absl::FailedPreconditionError(absl::StrCat(path, " is not a regular file: remove it"));
}

}  // namespace

absl::StatusOr<UniqueFd> OpenFolder(const std::string& path, const FolderOptions& options) {
  std::string whole = path;
  if (!path.starts_with('/') && options.trust != FolderTrust::kShared) {  // folders above the current one matter, too
    std::error_code error;
    whole = absl::StrCat(std::filesystem::current_path(error).string(), "/", path);
    if (error) return absl::UnavailableError(absl::StrCat("the current folder is not known: ", error.message()));
  }
  const bool is_absolute = whole.starts_with('/');
  UniqueFd start(open(is_absolute ? "/" : ".", O_PATH | O_DIRECTORY | O_CLOEXEC));
  if (!start.is_open()) return FolderFailed("cannot open the folder", is_absolute ? "/" : ".");
  return Walk(options).Descend(std::move(start), is_absolute ? "/" : "", whole, true, options.makes_missing);
}

PathParts SplitPath(const std::string& path) {
  const size_t slash = path.rfind('/');
  if (slash == std::string::npos) return {"", path};
  return {path.substr(0, slash + 1), path.substr(slash + 1)};
}

absl::StatusOr<UniqueFd> OpenToAppend(const std::string& path) {
  const auto [folder_path, name] = SplitPath(path);
  const absl::StatusOr<UniqueFd> folder = OpenFolder(folder_path, {FolderTrust::kShared});
  if (!folder.ok()) return folder.status();
  constexpr int kFlags = O_WRONLY | O_APPEND | O_CREAT;
  struct stat info {};
  if (!OpenFolder(folder_path, {FolderTrust::kTrusted}).ok()) {
    return OpenUnlinked(*folder, path, name, kFlags, 0644, info);
  }
  UniqueFd fd(openat(folder->get(), name.c_str(), kFlags | O_NONBLOCK | O_NOCTTY | O_CLOEXEC, 0644));
  if (!fd.is_open()) return FolderFailed("cannot open", path);
  return fd;
}

absl::StatusOr<UniqueFd> OpenPlainFile(const std::string& path, int flags, mode_t mode) {
  const auto [folder_path, name] = SplitPath(path);
  const absl::StatusOr<UniqueFd> folder = OpenFolder(folder_path, {FolderTrust::kShared});
  if (!folder.ok()) return folder.status();
  struct stat info {};
  return OpenRegular(*folder, path, name, flags, mode, info);
}

absl::StatusOr<UniqueFd> OpenOwnFile(const UniqueFd& folder, const std::string& folder_path, const std::string& name,
                                     int flags, mode_t mode, uid_t self) {
  const std::string path = absl::StrCat(folder_path, "/", name);
  struct stat info {};
  absl::StatusOr<UniqueFd> fd = OpenRegular(folder, path, name, flags, mode, info);
  if (!fd.ok()) return fd;
  if (info.st_uid != self) {
    return absl::PermissionDeniedError(
        absl::StrCat(path, " belongs to another user (uid ", info.st_uid, ", not ", self, "): remove it"));
  }
  if (CanOthersWrite(info)) {
    return absl::PermissionDeniedError(absl::StrCat("others can write to ", path, ": remove it"));
  }
  return fd;
}

}  // namespace muster
