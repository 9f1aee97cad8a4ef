#include "worker_agent/keeper/log_file.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <system_error>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"

namespace muster::agent {

absl::StatusOr<LogFile> LogFile::Open(const std::string& path) {
  auto failed = [&](const std::string& why) {
    return absl::FailedPreconditionError(
        absl::StrCat("the log file ", path, " can't be written: ", why, " (--log_dir says where logs go)"));
  };
  std::error_code error;
  const std::filesystem::path folder = std::filesystem::path(path).parent_path();
  if (!folder.empty()) std::filesystem::create_directories(folder, error);  // open tells what is wrong, if anything
  // O_NONBLOCK: opening a named pipe that nobody reads must not hang the keeper.
  UniqueFd fd(::open(path.c_str(), O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC | O_NONBLOCK | O_NOCTTY, 0644));
  if (!fd.is_open()) return failed(std::strerror(errno));
  struct stat info {};
  if (::fstat(fd.get(), &info) != 0) return failed(std::strerror(errno));
  if (!S_ISREG(info.st_mode) && !S_ISCHR(info.st_mode)) return failed("it is not a file");
  return LogFile(std::move(fd), path);
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
  return absl::StrCat("the log file ", path_, " takes no more output: ", std::strerror(errno),
                      "; what is printed from here on is missing there until it does");
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
