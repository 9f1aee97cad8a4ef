#include "worker_agent/keeper/files/log_file.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <cerrno>
#include <cstring>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "common/base/os_error.h"
#include "common/sys/private_folder.h"
#include "worker_agent/launch_error/launch_error.h"

namespace muster::agent {
namespace {

bool EndsInsideALine(int fd, off_t size) {
  if (size == 0) return false;
  const UniqueFd readable(::open(absl::StrCat("/proc/self/fd/", fd).c_str(), O_RDONLY | O_CLOEXEC));
  char last = '\n';
  return readable.is_open() && ::pread(readable.get(), &last, 1, size - 1) == 1 && last != '\n';
}

}  // namespace

absl::StatusOr<LogFile> LogFile::Open(const std::string& path) {
  // `error`: the errno, or 0 if no system call failed.
  auto failed = [&](const std::string& why, int error) {
    const std::string text = absl::StrCat("the log file ", path, " can't be written: ", why, " (--log_dir)");
    return At(LaunchStep::kLogFile, absl::FailedPreconditionError(text), error);
  };
  const auto [folder_path, name] = SplitPath(path);
  const absl::StatusOr<UniqueFd> folder = OpenFolder(folder_path, {FolderTrust::kShared, /*makes_missing=*/true});
  if (!folder.ok()) return failed(std::string(folder.status().message()), ErrnoOf(folder.status()));
  // The folder may be another user's. That user may have put there a link to a file of ours, or a pipe without a
  // reader.
  const int flags = O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC | O_NONBLOCK | O_NOCTTY | O_NOFOLLOW;
  UniqueFd fd(::openat(folder->get(), name.c_str(), flags, 0644));
  if (!fd.is_open() && errno == ELOOP) return failed("it is a symbolic link, which is not followed: remove it", ELOOP);
  if (!fd.is_open()) return failed(std::strerror(errno), errno);
  struct stat info {};
  if (::fstat(fd.get(), &info) != 0) return failed(std::strerror(errno), errno);
  // A device is accepted, since only root can make one.
  if (!S_ISREG(info.st_mode) && !S_ISCHR(info.st_mode)) return failed("it is not a regular file: remove it", EEXIST);
  if (info.st_nlink > 1) return failed("it has another name elsewhere (a hard link): remove it", EEXIST);
  LogFile log(std::move(fd), path);
  if (S_ISREG(info.st_mode) && EndsInsideALine(log.fd_.get(), info.st_size)) log.Write("\n");
  return log;
}

std::string LogFile::Append(std::string_view bytes) {
  if (lost_bytes_ != 0) {
    const std::string note = absl::StrCat("\n[ms-worker: ", lost_bytes_, " bytes of output were lost here]\n");
    if (Write(note) == note.size()) lost_bytes_ = 0;
  }
  const size_t written = lost_bytes_ == 0 ? Write(bytes) : 0;
  lost_bytes_ += bytes.size() - written;
  if (written == bytes.size() || has_complained_) return {};
  has_complained_ = true;
  return absl::StrCat("can't write to the log file ", path_, ": ", std::strerror(errno),
                      "; output is missing there until writes succeed again");
}

size_t LogFile::Write(std::string_view bytes) {
  size_t written = 0;
  while (written < bytes.size()) {
    ssize_t n = ::write(fd_.get(), bytes.data() + written, bytes.size() - written);
    if (n > 0) {
      written += static_cast<size_t>(n);
    } else if (n == 0 || errno != EINTR) {
      break;
    }
  }
  return written;
}

}  // namespace muster::agent
