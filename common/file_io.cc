#include "common/file_io.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>

#include "absl/cleanup/cleanup.h"
#include "absl/strings/str_cat.h"

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

absl::Status Replace(const std::string& path, const std::string& content, mode_t mode, bool syncs) {
  const std::string temporary = absl::StrCat(path, ".", getpid(), ".tmp");
  unlink(temporary.c_str());  // left by a process of this id that died half-way
  const int fd = open(temporary.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, mode);
  if (fd < 0) return Failed("cannot create", temporary);
  absl::Status status = WriteAll(fd, content, temporary);
  if (status.ok() && syncs) status = Sync(fd, temporary);
  if (status.ok() && fchmod(fd, mode) != 0) status = Failed("cannot set the mode of", temporary);  // the umask's doing
  close(fd);
  if (status.ok() && rename(temporary.c_str(), path.c_str()) != 0) status = Failed("cannot rename to", path);
  if (!status.ok()) unlink(temporary.c_str());
  return status;
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

absl::Status WriteFileAtomically(const std::string& path, const std::string& content, mode_t mode) {
  if (absl::Status status = Replace(path, content, mode, true); !status.ok()) return status;
  const size_t slash = path.rfind('/');
  const std::string folder = slash == std::string::npos ? "." : path.substr(0, slash + 1);
  const int folder_fd = open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (folder_fd < 0) return Failed("cannot open", folder);
  const bool is_synced = fsync(folder_fd) == 0 || errno == EINVAL;  // some file systems can't sync a folder
  const absl::Status status = is_synced ? absl::OkStatus() : Failed("cannot sync", folder);
  close(folder_fd);
  return status;
}

}  // namespace muster
