#include "common/sys/file_io.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>

#include "absl/cleanup/cleanup.h"
#include "absl/strings/str_cat.h"
#include "common/sys/private_folder.h"

namespace muster {
namespace {

absl::Status Failed(const std::string& what, const std::string& path) {
  const int error = errno;
  const std::string text = absl::StrCat(what, " ", path, ": ", std::strerror(error));
  return error == ENOENT ? absl::NotFoundError(text) : absl::UnavailableError(text);
}

absl::Status WriteAll(int fd, const std::string& content, const std::string& path) {
  size_t done = 0;
  while (done < content.size()) {
    const ssize_t n = write(fd, content.data() + done, content.size() - done);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return Failed("cannot write", path);
    done += static_cast<size_t>(n);
  }
  return absl::OkStatus();
}

absl::Status Sync(int fd, const std::string& path) {
  return fsync(fd) == 0 ? absl::OkStatus() : Failed("cannot sync", path);
}

// In its folder as it is now: whoever may change the folders on the way can't send us elsewhere meanwhile.
absl::Status Replace(const std::string& path, const std::string& content, mode_t mode, bool syncs) {
  const auto [folder_path, name] = SplitPath(path);
  const absl::StatusOr<UniqueFd> folder = OpenFolder(folder_path, {FolderTrust::kShared});
  if (!folder.ok()) {
    return {folder.status().code(), absl::StrCat("cannot create ", path, ": ", folder.status().message())};
  }
  const std::string temporary = absl::StrCat(name, ".", getpid(), ".tmp");
  const std::string temporary_path = absl::StrCat(folder_path, temporary);
  unlinkat(folder->get(), temporary.c_str(), 0);  // left by a process of this id that died half-way
  const UniqueFd fd(
      openat(folder->get(), temporary.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, mode));
  if (!fd.is_open()) return Failed("cannot create", temporary_path);
  absl::Status status = WriteAll(fd.get(), content, temporary_path);
  if (status.ok() && syncs) status = Sync(fd.get(), temporary_path);
  if (status.ok() && fchmod(fd.get(), mode) != 0) {  // the umask's doing
    status = Failed("cannot set the mode of", temporary_path);
  }
  if (status.ok() && renameat(folder->get(), temporary.c_str(), folder->get(), name.c_str()) != 0) {
    status = Failed("cannot rename to", path);
  }
  if (!status.ok()) unlinkat(folder->get(), temporary.c_str(), 0);
  if (!status.ok() || !syncs) return status;
  const UniqueFd listed(openat(folder->get(), ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!listed.is_open()) return Failed("cannot open", folder_path);
  const bool is_synced = fsync(listed.get()) == 0 || errno == EINVAL;  // some file systems can't sync a folder
  return is_synced ? absl::OkStatus() : Failed("cannot sync", folder_path);
}

}  // namespace

absl::StatusOr<std::string> ReadSmallFile(const std::string& path, size_t max_bytes) {
  // O_NONBLOCK: opening a named pipe must not hang.
  const int fd = open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (fd < 0) return Failed("cannot open", path);
  const absl::Cleanup close_fd = [fd] { close(fd); };
  struct stat info {};
  if (fstat(fd, &info) != 0) return Failed("cannot read", path);
  if (!S_ISREG(info.st_mode)) return absl::InvalidArgumentError(absl::StrCat(path, " is not a regular file"));

  std::string content;
  char buffer[64 * 1024];
  while (true) {
    const ssize_t n = read(fd, buffer, sizeof(buffer));
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return Failed("cannot read", path);
    if (n == 0) return content;
    content.append(buffer, static_cast<size_t>(n));
    if (content.size() > max_bytes) {
      return absl::InvalidArgumentError(
          absl::StrCat(path, " is larger than the ", max_bytes, " bytes that are allowed"));
    }
  }
}

absl::Status ReplaceFile(const std::string& path, const std::string& content, mode_t mode) {
  return Replace(path, content, mode, false);
}

UniqueFd OpenRegularFile(const std::string& path, struct stat& info) {
  // A device's mere opening may do something: so first what it is, then open it, then whether it still is.
  if (lstat(path.c_str(), &info) != 0 || !S_ISREG(info.st_mode)) return UniqueFd();
  UniqueFd fd(open(path.c_str(), O_RDONLY | O_NONBLOCK | O_NOFOLLOW | O_NOCTTY | O_CLOEXEC));
  if (!fd.is_open() || fstat(fd.get(), &info) != 0 || !S_ISREG(info.st_mode)) return UniqueFd();
  return fd;
}

absl::Status WriteFileAtomically(const std::string& path, const std::string& content, mode_t mode) {
  return Replace(path, content, mode, true);
}

void RemoveFile(const std::string& path) {
  const auto [folder_path, name] = SplitPath(path);
  const absl::StatusOr<UniqueFd> folder = OpenFolder(folder_path, {FolderTrust::kShared});
  if (folder.ok()) unlinkat(folder->get(), name.c_str(), 0);
}

}  // namespace muster
