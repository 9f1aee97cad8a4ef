// | format | what it is                                                  | what is done                               |
// |--------|-------------------------------------------------------------|--------------------------------------------|
// | 1      | peer lists told ranks one by one, and certificates as text  | refused: no release wrote it               |
// | 2      | 0.1.0's                                                     | its records are those of format 3          |
// | 3      | records may say that older readers can't decide by them     | today's; programs before it don't look, so |
// |        | (Record.least_reader)                                       | the number keeps them away                 |
// | more   | a newer version's                                           | refused                                    |
#include "scheduler/journal/migration.h"

#include <fcntl.h>
#include <sqlite3.h>
#include <unistd.h>

#include <cerrno>

#include "absl/strings/str_cat.h"
#include "common/base/unique_fd.h"
#include "common/sys/log.h"
#include "scheduler/journal/journal_folder.h"
#include "scheduler/journal/sqlite_words.h"

namespace muster::scheduler {
namespace {

absl::Status Execute(sqlite3* db, const std::string& path, const std::string& sql) {
  if (sqlite3_exec(db, sql.c_str(), nullptr, nullptr, nullptr) == SQLITE_OK) return absl::OkStatus();
  const absl::Status status = SqliteError(db, path, "written");
  if (sqlite3_get_autocommit(db) == 0) sqlite3_exec(db, "ROLLBACK", nullptr, nullptr, nullptr);
  return status;
}

absl::Status SyncFile(const std::string& path) {
  const UniqueFd fd(open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (fd.is_open() && fsync(fd.get()) == 0) return absl::OkStatus();
  return UnusableJournal(absl::StrCat(path, " can't be brought to the disk"), errno);
}

// That a journal has one is not copied.
absl::Status SetWriteAheadLog(const std::string& path) {
  sqlite3* db = nullptr;
  absl::Status status = sqlite3_open_v2(path.c_str(), &db, SQLITE_OPEN_READWRITE, nullptr) == SQLITE_OK
                            ? Execute(db, path, "PRAGMA journal_mode=WAL")
                            : SqliteError(db, path, "opened");
  sqlite3_close_v2(db);
  return status;
}

}  // namespace

absl::Status CopyJournal(sqlite3* db, const std::string& path, const std::string& copy) {
  unlink(copy.c_str());
  {
    // As private as the journal. SQLite writes into an empty file.
    const UniqueFd made(open(copy.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600));
    if (!made.is_open()) return UnusableJournal(absl::StrCat("the copy ", copy, " can't be made"), errno);
  }
  char* sql = sqlite3_mprintf("VACUUM INTO %Q", copy.c_str());
  absl::Status status = Execute(db, path, sql);
  sqlite3_free(sql);
  if (status.ok()) status = SetWriteAheadLog(copy);
  if (!status.ok()) {
    unlink(copy.c_str());
    return status;
  }
  if (absl::Status synced = SyncFile(copy); !synced.ok()) return synced;
  return SyncFolderOf(copy);
}

std::string OldJournalPath(const std::string& path, int format) { return absl::StrCat(path, ".format-", format); }

absl::Status CheckJournalFormat(const std::string& path, int format) {
  if (format > kJournalFormat) {
    return absl::FailedPreconditionError(absl::StrCat(
        "the journal ", path, " has format ", format, ", and this ms-scheduler knows formats up to ", kJournalFormat,
        ": use the newer ms-scheduler that wrote it, or put the copy from before in its place (",
        OldJournalPath(path, kJournalFormat), ", if that is there), or name another file with --journal_path"));
  }
  if (format < 2) {
    return absl::FailedPreconditionError(
        absl::StrCat("the journal ", path, " has format ", format, ", and this ms-scheduler knows formats from 2 to ",
                     kJournalFormat,
                     ": use the older ms-scheduler that wrote it until its jobs have ended, then move "
                     "the file away, or name another file with --journal_path"));
  }
  return absl::OkStatus();
}

absl::Status MigrateJournal(sqlite3* db, const std::string& path, int from) {
  const std::string copy = OldJournalPath(path, from);
  if (absl::Status status = CopyJournal(db, path, copy); !status.ok()) return status;
  const std::string update =
      absl::StrCat("BEGIN IMMEDIATE; UPDATE meta SET value='", kJournalFormat, "' WHERE key='format'; COMMIT");
  if (absl::Status status = Execute(db, path, update); !status.ok()) return status;
  Log(Severity::kInfo, absl::StrCat("the journal ", path, " had format ", from, " and has format ", kJournalFormat,
                                    " now; as it was it is kept at ", copy,
                                    ", which the older ms-scheduler needs if you go back to it"));
  return absl::OkStatus();
}

}  // namespace muster::scheduler
