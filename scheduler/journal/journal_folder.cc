// A scheduler that runs as root trusts a journal only under these conditions:
//
//   the folders and links on the way to     belong to root; other users can at most add files to them (sticky)
//   the journal's folder
//   the journal's folder                    belongs to root; no other user can write to it
//   the journal, its log, its owner note    belong to root; no other user can write to them
//
// A sticky folder is not enough for the journal. SQLite believes the files beside it (-wal, -shm, -journal), which come
// and go. So a user who can add a file to the folder can forge the scheduler's state.
//
// The checks don't apply to a scheduler that runs as another user, who must know who can write to the folder. (The
// folder of a pod's volume often belongs to root and is open to all.)
#include "scheduler/journal/journal_folder.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/sys/folder_trust.h"
#include "common/sys/private_folder.h"
#include "scheduler/journal/network_fs.h"
#include "scheduler/journal/owner_note.h"
#include "scheduler/journal/sqlite_words.h"

namespace muster::scheduler {
namespace {

namespace fs = std::filesystem;

// Returns the file's attributes; none: there is no such file. Never opens the file, because closing it would drop the
// locks that this process holds on it.
std::optional<struct stat> About(const std::string& path) {
  struct stat about {};
  if (stat(path.c_str(), &about) != 0) return std::nullopt;
  return about;
}

// Returns the journal, the files that SQLite opens beside it, and the owner note.
std::vector<std::string> FilesOf(const std::string& path) {
  return {path, path + "-wal", path + "-shm", path + "-journal", OwnerNotePath(path)};
}

// Returns an error if one of the journal's files is a link, has a hard link, or is no plain file. A user who can write
// to the folder could use a link to make the scheduler write elsewhere, or a pipe to make it block.
absl::Status CheckFilesArePlain(const std::string& path) {
  for (const std::string& file : FilesOf(path)) {
    struct stat about {};
    if (lstat(file.c_str(), &about) != 0) {
      if (errno == ENOENT || errno == ENOTDIR) continue;
      return UnusableJournal(absl::StrCat(file, " can't be examined"), errno);
    }
    const std::string what = file == path ? absl::StrCat("the journal ", path) : file;
    if (S_ISLNK(about.st_mode)) {
      return absl::PermissionDeniedError(
          absl::StrCat(what, " is a symbolic link and is not followed: ",
                       file == path ? "name the file itself with --journal_path" : "remove it"));
    }
    if (!S_ISREG(about.st_mode)) {
      return absl::PermissionDeniedError(absl::StrCat(what, " is no file but a folder, a pipe or a device: ",
                                                      file == path ? "name a file with --journal_path" : "remove it"));
    }
    if (about.st_nlink > 1) {
      return absl::PermissionDeniedError(
          absl::StrCat(what, " has another name elsewhere (a hard link), so writing here would change that file: ",
                       file == path ? "put a copy in its place (cp FILE COPY; mv COPY FILE)" : "remove it"));
    }
  }
  return absl::OkStatus();
}

absl::Status Sync(const fs::path& folder) {
  const int fd = open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  const bool is_synced = fd >= 0 && fsync(fd) == 0;
  const int error = errno;
  if (fd >= 0) close(fd);
  if (is_synced) return absl::OkStatus();
  return UnusableJournal(absl::StrCat("the folder ", folder.string(), " can't be synced to the disk"), error);
}

absl::Status MakeFolder(const fs::path& folder) {
  if (folder.empty() || About(folder)) return absl::OkStatus();
  if (absl::Status status = MakeFolder(folder.parent_path()); !status.ok()) return status;
  if (mkdir(folder.c_str(), 0700) != 0 && errno != EEXIST) {
    return UnusableJournal(absl::StrCat("the journal's folder ", folder.string(), " can't be made"), errno);
  }
  return Sync(folder.parent_path());
}

absl::Status NotBelievedByRoot(const std::string& path, const std::string& why, const std::string& remedy) {
  return absl::PermissionDeniedError(
      absl::StrCat("root does not trust the journal ", path, ": ", why, ". ",
                   remedy.empty() ? "" : absl::StrCat(remedy, ". Otherwise: "),
                   "name a file in a folder of root's own with --journal_path (a new folder is made private)"));
}

// Checks the folders on the way to the journal's folder, as far as they exist. Call it before a folder is made.
absl::Status CheckWayForRoot(const std::string& path, fs::path folder) {
  std::error_code ignored;  // a name that is too long is no folder either
  while (!fs::exists(fs::symlink_status(folder, ignored)) && folder.has_relative_path()) folder = folder.parent_path();
  // A user who can replace a folder on the way could put another journal there.
  const auto way = OpenFolder(folder.string(), {FolderTrust::kTrusted});
  return way.ok() ? absl::OkStatus() : NotBelievedByRoot(path, std::string(way.status().message()), "");
}

absl::Status CheckForRoot(const std::string& path, const fs::path& folder) {
  std::error_code error;
  const fs::path real = fs::canonical(folder, error);
  if (error) return UnusableJournal(absl::StrCat("the folder ", folder.string(), " can't be found"), error.value());
  if (const auto doubt = DoubtFolder(real.string(), {0, std::nullopt, /*takes_sticky=*/false})) {
    const bool is_foreign = doubt->kind == FolderDoubt::Kind::kForeign;
    return NotBelievedByRoot(path, doubt->why, is_foreign ? "Run ms-scheduler as that user" : doubt->remedy);
  }
  if (absl::Status status = CheckWayForRoot(path, folder); !status.ok()) return status;
  for (const std::string& file : FilesOf(path)) {
    const std::optional<struct stat> about = About(file);
    if (!about) continue;
    if (about->st_uid != 0) {
      return NotBelievedByRoot(
          path, absl::StrCat(file, " belongs to another user (uid ", about->st_uid, ")"),
          absl::StrCat("Run ms-scheduler as that user, or, if you trust its content: chown root ", file));
    }
    if ((about->st_mode & (S_IWGRP | S_IWOTH)) != 0) {
      return NotBelievedByRoot(path, absl::StrCat("others can write to ", file),
                               absl::StrCat("If you trust its content: chmod go-w ", file));
    }
  }
  return absl::OkStatus();
}

absl::Status MakeFile(const std::string& path, const fs::path& folder) {
  if (About(path + "-wal")) {
    return DamagedJournal(path, absl::StrCat("it is missing, but its write-ahead log ", path, "-wal exists"));
  }
  if (const std::string copy = UnfinishedCopyPath(path); About(copy)) {
    return absl::DataLossError(absl::StrCat("the journal ", path, " is missing, and ", copy,
                                            " is a copy that ms-scheduler made of it when it ended: if `ms-ctl "
                                            "journal verify ",
                                            copy, "` says that it is sound, use it (mv ", copy, " ", path,
                                            "), otherwise remove it"));
  }
  unlink(OwnerNotePath(path).c_str());  // it belongs to a journal that was removed on purpose
  const int fd = open(path.c_str(), O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
  if (fd < 0) return UnusableJournal(absl::StrCat("the journal ", path, " can't be made"), errno);
  close(fd);
  return Sync(folder);
}

}  // namespace

std::string UnfinishedCopyPath(const std::string& path) { return path + ".again"; }

absl::Status SyncFolderOf(const std::string& path) { return Sync(fs::absolute(path).parent_path()); }

absl::Status PrepareJournalFolder(const std::string& path, uid_t self) {
  const fs::path folder = fs::absolute(path).parent_path();
  // (CheckForRoot below checks an existing folder, with better advice.)
  if (self == 0 && !About(folder)) {
    if (absl::Status status = CheckWayForRoot(path, folder); !status.ok()) return status;
  }
  if (absl::Status status = MakeFolder(folder); !status.ok()) return status;
  if (const std::string kind = NetworkFileSystemUnder(folder.string()); !kind.empty()) {
    return absl::FailedPreconditionError(
        absl::StrCat("the journal ", path, " would be on a network file system (", kind,
                     "), where neither locks nor syncs can be trusted; name a file on a local disk with "
                     "--journal_path"));
  }
  return self == 0 ? CheckForRoot(path, folder) : absl::OkStatus();
}

absl::Status PrepareJournalFile(const std::string& path, uid_t self) {
  if (absl::Status status = PrepareJournalFolder(path, self); !status.ok()) return status;
  if (absl::Status status = CheckFilesArePlain(path); !status.ok()) return status;
  const std::optional<struct stat> about = About(path);
  if (!about) return MakeFile(path, fs::absolute(path).parent_path());
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
