#include "scheduler/journal/sqlite_words.h"

#include <sqlite3.h>

#include <cerrno>
#include <cstring>

#include "absl/strings/str_cat.h"
#include "scheduler/journal/owner_note.h"

namespace muster::scheduler {
namespace {

constexpr char kElsewhere[] = "or name another file with --journal_path";

bool IsFull(int code, int system_error) {
  if ((code & 0xff) == SQLITE_FULL) return true;
  // A write that went over the quota. A failed sync never counts as a full disk, no matter what errno says: it is
  // unknown what was written.
  return code == SQLITE_IOERR_WRITE && (system_error == ENOSPC || system_error == EDQUOT);
}

const char* StepOf(int code) {
  if (code == SQLITE_IOERR_FSYNC || code == SQLITE_IOERR_DIR_FSYNC) return "sync";
  if (code == SQLITE_IOERR_WRITE) return "write";
  if (code == SQLITE_IOERR_READ || code == SQLITE_IOERR_SHORT_READ) return "read";
  return "input or output";
}

}  // namespace

absl::Status SqliteError(sqlite3* db, const std::string& path, const std::string& doing) {
  const int last_error = errno;  // when a commit fails, SQLite 3.40's sqlite3_system_errno returns 0
  if (db == nullptr) return absl::InternalError(absl::StrCat("no memory to open the journal ", path));
  const int code = sqlite3_extended_errcode(db);
  const int noted_error = sqlite3_system_errno(db);
  const int system_error = noted_error != 0 ? noted_error : last_error;
  std::string why = sqlite3_errmsg(db);
  if ((code & 0xff) == SQLITE_IOERR) absl::StrAppend(&why, ", ", StepOf(code), ": ", std::strerror(system_error));
  if ((code & 0xff) == SQLITE_CANTOPEN) absl::StrAppend(&why, ": ", std::strerror(system_error));
  absl::StrAppend(&why, " (SQLite error ", code, ")");
  const std::string failed = absl::StrCat("the journal ", path, " can't be ", doing, ": ", why, "; ");
  if (IsFull(code, system_error)) {
    return absl::ResourceExhaustedError(
        absl::StrCat("the disk under the journal ", path, " is full: make room, ", kElsewhere));
  }
  switch (code & 0xff) {
    case SQLITE_BUSY:
    case SQLITE_LOCKED: {
      const std::string holder = HolderOf(path);
      return absl::FailedPreconditionError(
          absl::StrCat("the journal ", path, " is held by another process",
                       holder.empty() ? "" : absl::StrCat(" (", holder, ", according to ", OwnerNotePath(path), ")"),
                       ": stop that ms-scheduler, ", kElsewhere));
    }
    case SQLITE_READONLY:
    case SQLITE_CANTOPEN:
    case SQLITE_PERM:
    case SQLITE_AUTH:
      return absl::PermissionDeniedError(absl::StrCat(failed, "make the file and its folder writable, ", kElsewhere));
    case SQLITE_NOTADB:
    case SQLITE_CORRUPT:
      return DamagedJournal(path, why);
    case SQLITE_IOERR:
      return absl::InternalError(absl::StrCat(failed, "check the disk (dmesg shows its errors), ", kElsewhere));
    default:
      return absl::InternalError(absl::StrCat(failed, "try again, ", kElsewhere));
  }
}

absl::Status DamagedJournal(const std::string& path, const std::string& what) {
  return absl::DataLossError(absl::StrCat("the journal ", path, " is damaged: ", what,
                                          ". Put a good copy in its place, or move ", path, ", ", path, "-wal and ",
                                          OwnerNotePath(path),
                                          " away to begin with an empty journal: then every run is forgotten, and "
                                          "agents that still run end with exit code 14"));
}

absl::Status UnusableJournal(const std::string& what, int error) {
  const std::string text = absl::StrCat(what, ": ", std::strerror(error), "; fix that, ", kElsewhere);
  return error == ENOSPC || error == EDQUOT ? absl::ResourceExhaustedError(text) : absl::PermissionDeniedError(text);
}

}  // namespace muster::scheduler
