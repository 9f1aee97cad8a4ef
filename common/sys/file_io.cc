#include "common/sys/file_io.h"

#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

#include <cerrno>

#include "absl/strings/str_cat.h"
#include "common/base/clock.h"
#include "common/base/os_error.h"
#include "common/sys/private_folder.h"
#include "common/sys/wait.h"

namespace muster {
namespace {

absl::Status Failed(const std::string& what, const std::string& path) {
  const int error = errno;
  return FileError(absl::StrCat(what, " ", path), error);
}

absl::Status Unreadable(const std::string& path) {
  const int error = errno;
  return FileError(absl::StrCat(path, " can't be read"), error);
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

// Opens the folder once and works in it. So a later change of a folder in the path can't lead to another place.
absl::Status Replace(const std::string& path, const std::string& content, mode_t mode, bool syncs) {
  const auto [folder_path, name] = SplitPath(path);
  const absl::StatusOr<UniqueFd> folder = OpenFolder(folder_path, {FolderTrust::kShared});
  if (!folder.ok()) {
    return Reworded(folder.status(), absl::StrCat("cannot create ", path, ": ", folder.status().message()));
  }
  const std::string temporary = absl::StrCat(name, ".", getpid(), ".tmp");
  const std::string temporary_path = absl::StrCat(folder_path, temporary);
  unlinkat(folder->get(), temporary.c_str(), 0);  // left by a process with this id that died before the rename
  const UniqueFd fd(
      openat(folder->get(), temporary.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, mode));
  if (!fd.is_open()) return Failed("cannot create", temporary_path);
  absl::Status status = WriteAll(fd.get(), content, temporary_path);
  if (status.ok() && syncs) status = Sync(fd.get(), temporary_path);
  if (status.ok() && fchmod(fd.get(), mode) != 0) {  // the umask may have removed bits of `mode`
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

const char* KindOf(mode_t mode) {
  switch (mode & S_IFMT) {
    case S_IFDIR:
      return "a directory";
    case S_IFIFO:
      return "a pipe";
    case S_IFSOCK:
      return "a socket";
    default:
      return "a device";
  }
}

absl::StatusOr<UniqueFd> OpenNamed(const std::string& path, struct stat& info, bool takes_pipe) {
  const auto is_taken = [&] { return S_ISREG(info.st_mode) || (takes_pipe && S_ISFIFO(info.st_mode)); };
  const auto wrong_kind = [&] {
    return absl::InvalidArgumentError(absl::StrCat(path, " is ", KindOf(info.st_mode), ", not a regular file"));
  };
  // Check the kind before opening: opening a device may have an effect (/dev/watchdog starts a countdown to a restart
  // of the machine), and opening a pipe may block.
  if (stat(path.c_str(), &info) != 0) return Unreadable(path);
  if (!is_taken()) return wrong_kind();
  UniqueFd fd(open(path.c_str(), O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC));
  if (!fd.is_open() || fstat(fd.get(), &info) != 0) return Unreadable(path);
  if (!is_taken()) return wrong_kind();
  return fd;
}

// `patience`: how long a writer may keep the pipe open.
absl::StatusOr<std::string> ReadToEnd(int fd, const std::string& path, size_t max_bytes, absl::Duration patience) {
  const MonotonicTime deadline = Clock::System().Read().monotonic + patience;
  std::string content;
  char buffer[64 * 1024];
  while (true) {
    const ssize_t n = read(fd, buffer, sizeof(buffer));
    if (n < 0 && errno == EINTR) continue;
    if (n < 0 && errno == EAGAIN && patience > absl::ZeroDuration()) {
      const absl::Duration left = deadline - Clock::System().Read().monotonic;
      if (left <= absl::ZeroDuration()) {
        return absl::DeadlineExceededError(
            absl::StrCat(path, " is a pipe that its writer has kept open for ", absl::FormatDuration(patience)));
      }
      WaitFor(fd, POLLIN, left);
      continue;
    }
    if (n < 0) return Unreadable(path);
    if (n == 0) return content;
    content.append(buffer, static_cast<size_t>(n));
    if (content.size() > max_bytes) {
      return absl::InvalidArgumentError(
          absl::StrCat(path, " is larger than the ", max_bytes, " bytes that are allowed"));
    }
  }
}

}  // namespace

absl::StatusOr<UniqueFd> OpenNamedFile(const std::string& path, struct stat& info) {
  return OpenNamed(path, info, /*takes_pipe=*/false);
}

absl::StatusOr<std::string> ReadSmallFile(const std::string& path, size_t max_bytes) {
  struct stat info {};
  const absl::StatusOr<UniqueFd> fd = OpenNamedFile(path, info);
  return fd.ok() ? ReadToEnd(fd->get(), path, max_bytes, absl::ZeroDuration()) : fd.status();
}

absl::StatusOr<std::string> ReadSmallFile(const UniqueFd& file, const std::string& path, size_t max_bytes) {
  struct stat info {};
  if (fstat(file.get(), &info) != 0) return Unreadable(path);
  if (!S_ISREG(info.st_mode)) {
    return absl::InvalidArgumentError(absl::StrCat(path, " is ", KindOf(info.st_mode), ", not a regular file"));
  }
  return ReadToEnd(file.get(), path, max_bytes, absl::ZeroDuration());
}

absl::StatusOr<std::string> ReadSmallFileOrPipe(const std::string& path, size_t max_bytes, absl::Duration patience) {
  struct stat info {};
  const absl::StatusOr<UniqueFd> fd = OpenNamed(path, info, /*takes_pipe=*/true);
  if (!fd.ok()) return fd.status();
  absl::StatusOr<std::string> content = ReadToEnd(fd->get(), path, max_bytes, patience);
  if (content.ok() && content->empty() && S_ISFIFO(info.st_mode)) {
    return absl::InvalidArgumentError(
        absl::StrCat(path, " is a pipe from which nothing came: no program writes to it, or another one has read it"));
  }
  return content;
}

absl::Status ReplaceFile(const std::string& path, const std::string& content, mode_t mode) {
  return Replace(path, content, mode, false);
}

UniqueFd OpenRegularFile(const std::string& path, struct stat& info) {
  // Opening a device may have an effect. So check the kind, open the file, then check again.
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
