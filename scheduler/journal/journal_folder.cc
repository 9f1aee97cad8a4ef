#include "scheduler/journal/journal_folder.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <optional>

#include "absl/strings/str_cat.h"
#include "scheduler/journal/network_fs.h"
#include "scheduler/journal/owner_note.h"
#include "scheduler/journal/sqlite_words.h"

namespace muster::scheduler {
namespace {

namespace fs = std::filesystem;

// No file: nothing. Never opens the file: closing it again would drop the locks of a journal in this same process.
std::optional<struct stat> About(const std::string& path) {
  struct stat about {};
  if (stat(path.c_str(), &about) != 0) return std::nullopt;
  return about;
}

absl::Status Sync(const fs::path& folder) {
  const int fd = open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  const bool is_synced = fd >= 0 && fsync(fd) == 0;
  const int error = errno;
  if (fd >= 0) close(fd);
  if (is_synced) return absl::OkStatus();
  return UnusableJournal(absl::StrCat("the folder ", folder.string(), " can't be brought to the disk"), error);
}

absl::Status MakeFolder(const fs::path& folder) {
  if (folder.empty() || About(folder)) return absl::OkStatus();
  if (absl::Status status = MakeFolder(folder.parent_path()); !status.ok()) return status;
  if (mkdir(folder.c_str(), 0700) != 0 && errno != EEXIST) {
    return UnusableJournal(absl::StrCat("the journal's folder ", folder.string(), " can't be made"), errno);
  }
  return Sync(folder.parent_path());
}

absl::Status MakeFile(const std::string& path, const fs::path& folder) {
  if (About(path + "-wal")) {
    return DamagedJournal(path, absl::StrCat("it is gone, but its write-ahead log ", path, "-wal is there"));
  }
  unlink(OwnerNotePath(path).c_str());  // it speaks of a journal that somebody took away on purpose
  const int fd = open(path.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
  if (fd < 0) return UnusableJournal(absl::StrCat("the journal ", path, " can't be made"), errno);
  close(fd);
  return Sync(folder);
}

}  // namespace

absl::Status PrepareJournalFile(const std::string& path) {
  const fs::path folder = fs::absolute(path).parent_path();
  if (absl::Status status = MakeFolder(folder); !status.ok()) return status;
  if (const std::string kind = NetworkFileSystemUnder(folder.string()); !kind.empty()) {
    return absl::FailedPreconditionError(
        absl::StrCat("the journal ", path, " would lie on a network file system (", kind,
                     "), where neither locks nor syncs can be trusted; name a file on a local disk with "
                     "--journal_path"));
  }
  const std::optional<struct stat> about = About(path);
  if (!about) return MakeFile(path, folder);
  if (!S_ISREG(about->st_mode)) {
    return absl::PermissionDeniedError(
        absl::StrCat("the journal ", path, " is no file but a folder or a device; name a file with --journal_path"));
  }
  if (access(path.c_str(), R_OK | W_OK) != 0) {
    return UnusableJournal(absl::StrCat("the journal ", path, " can't be read and written"), errno);
  }
  const std::optional<struct stat> log = About(path + "-wal");
  if (about->st_size == 0 && log && log->st_size > 0) {
    return DamagedJournal(path, absl::StrCat("it is empty, but its write-ahead log ", path, "-wal is not"));
  }
  return absl::OkStatus();
}

}  // namespace muster::scheduler
