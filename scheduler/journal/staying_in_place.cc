// The handling of files that are no longer at their paths (journal_place.h). The open descriptors still have all that
// this process wrote, even if the files have no name any more.
//
//   the journal is gone              WriteAgain puts a complete copy at its path
//   only its log is gone             BeginLog moves all records into the journal and begins a new log
//   another file is at a path        an error: only the operator knows which file is the right one
//   the paths can't be checked       this process goes on, and logs one warning
//   the owner note is gone           KeepNote writes it again
//
// The steps of WriteAgain, and what the next start finds if this process dies after a step:
//
//   1. move all records from the log into the database       no journal, perhaps an empty log: refuses to start
//   2. make a copy under another name, and sync it           the same; the operator can use the copy
//   3. give the copy the journal's name, if that is free     the journal (an old log is empty by now)
//   4. sync the folder; open and lock the copy               the journal
//
// For a moment this process has released the lock on the old file, and has not locked the new one yet. If another
// ms-scheduler opens the new journal in that moment, it finds a complete one. Then this process can't lock it, and
// ends. An ms-scheduler that waited for the lock on the old file notices that this file is no longer the journal, and
// fails (SqliteFile::Connect).
#include <fcntl.h>
#include <sqlite3.h>
#include <stdio.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/base/unique_fd.h"
#include "common/sys/log.h"
#include "scheduler/journal/journal_folder.h"
#include "scheduler/journal/sqlite_file.h"
#include "scheduler/journal/sqlite_words.h"

namespace muster::scheduler {
namespace {

absl::Status AnotherFile(const std::string& path, const std::string& journal) {
  return absl::FailedPreconditionError(absl::StrCat(
      path,
      " is not the file that this ms-scheduler writes: it was replaced, and so it lacks the latest decisions. Put "
      "the right files at ",
      journal,
      ", then start ms-scheduler again: it goes on with what they hold, and processes keep running until then"));
}

absl::Status Execute(sqlite3* db, const std::string& path, const char* sql) {
  return sqlite3_exec(db, sql, nullptr, nullptr, nullptr) == SQLITE_OK ? absl::OkStatus()
                                                                       : SqliteError(db, path, "written");
}

absl::Status SyncFile(const std::string& path) {
  const UniqueFd fd(open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (fd.is_open() && fsync(fd.get()) == 0) return absl::OkStatus();
  return UnusableJournal(absl::StrCat(path, " can't be synced to the disk"), errno);
}

// Gives the copy the mode WAL, which VACUUM INTO does not copy.
absl::Status SetWriteAheadLog(const std::string& path) {
  sqlite3* db = nullptr;
  absl::Status status = sqlite3_open_v2(path.c_str(), &db, SQLITE_OPEN_READWRITE, nullptr) == SQLITE_OK
                            ? Execute(db, path, "PRAGMA journal_mode=WAL")
                            : SqliteError(db, path, "opened");
  sqlite3_close_v2(db);
  return status;
}

// Makes a complete, durable copy of the journal, with mode 0600. Replaces a file that an interrupted attempt left at
// `copy`.
absl::Status CopyJournal(sqlite3* db, const std::string& path, const std::string& copy) {
  unlink(copy.c_str());
  {
    // (VACUUM INTO accepts an existing empty file, and keeps its mode.)
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

}  // namespace

absl::Status SqliteFile::StayInPlace() {
  const JournalPlace::Found found = place_->Look();
  absl::Status status;
  switch (found.state) {
    case JournalPlace::State::kInPlace:
      if (std::exchange(is_place_unknown_, false)) {
        Log(Severity::kInfo, absl::StrCat("the journal ", path_, " can be checked again, and is in its place"));
      }
      break;
    case JournalPlace::State::kUnknown:
      if (!std::exchange(is_place_unknown_, true)) {
        Log(Severity::kWarning,
            absl::StrCat("can't check whether the journal ", path_, " is still in its place: ", found.words,
                         ". ms-scheduler goes on writing it; make its folder accessible"));
      }
      return absl::OkStatus();
    case JournalPlace::State::kIsAnother:
      return AnotherFile(found.words, path_);
    case JournalPlace::State::kLogIsGone:
      status = BeginLog();
      break;
    case JournalPlace::State::kIsGone:
      status = WriteAgain();
      break;
  }
  if (status.ok()) KeepNote();
  return status;
}

absl::Status SqliteFile::BeginLog() {
  if (absl::Status status = EmptyLog(); !status.ok()) return status;
  if (absl::Status status = OpenAgain(place_->journal()); !status.ok()) return status;
  Log(Severity::kWarning,
      absl::StrCat(path_,
                   "-wal was removed while ms-scheduler was writing it. Nothing is lost: the journal "
                   "has all records, and a new log is begun. Find out what removes files there"));
  return absl::OkStatus();
}

absl::Status SqliteFile::WriteAgain() {
  if (absl::Status status = EmptyLog(); !status.ok()) return status;
  if (absl::Status status = PrepareJournalFolder(path_); !status.ok()) return status;
  const std::string copy = UnfinishedCopyPath(path_);
  if (absl::Status status = CopyJournal(db_.get(), path_, copy); !status.ok()) return status;
  const absl::StatusOr<FileIdentity> made = IdentityOf(copy);
  if (!made.ok()) return made.status();
  if (renameat2(AT_FDCWD, copy.c_str(), AT_FDCWD, path_.c_str(), RENAME_NOREPLACE) != 0) {
    const int error = errno;
    unlink(copy.c_str());
    if (error == EEXIST) return AnotherFile(path_, path_);
    return UnusableJournal(absl::StrCat("the journal ", path_, " was removed and can't be written again"), error);
  }
  if (absl::Status status = SyncFolderOf(path_); !status.ok()) return status;
  if (absl::Status status = OpenAgain(*made); !status.ok()) return status;
  Log(Severity::kWarning,
      absl::StrCat("the journal ", path_,
                   " was removed while ms-scheduler was writing it. Nothing is lost: it is written "
                   "again. Find out what removes files there, or name a file elsewhere with --journal_path"));
  return absl::OkStatus();
}

// Moves all records from the log into the database, and empties the log. If the log's file is still at its path, it
// must be empty: otherwise SQLite would apply it to the new journal.
absl::Status SqliteFile::EmptyLog() {
  const int result = sqlite3_wal_checkpoint_v2(db_.get(), nullptr, SQLITE_CHECKPOINT_TRUNCATE, nullptr, nullptr);
  *log_frames_ = 0;
  return result == SQLITE_OK ? absl::OkStatus() : SqliteError(db_.get(), path_, "written");
}

// Closes the connection to the old file and opens the one that is at the path now, which must be `expected`. Sets
// NO_CKPT_ON_CLOSE first: otherwise the old connection could remove the log at its path, which now belongs to the new
// file.
absl::Status SqliteFile::OpenAgain(const FileIdentity& expected) {
  sqlite3_db_config(db_.get(), SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1, nullptr);
  db_.reset();
  if (absl::Status status = Connect(); !status.ok()) return status;
  absl::StatusOr<JournalPlace> place = JournalPlace::Of(path_);
  if (!place.ok()) return place.status();
  if (place->journal() != expected) return AnotherFile(path_, path_);
  place_ = *std::move(place);
  return absl::OkStatus();
}

// Writes the owner note again if it was removed. A failure only logs a warning: without the note everything works, but
// a log that loses its end goes unnoticed.
void SqliteFile::KeepNote() {
  if (note_->IsInPlace()) return;
  absl::StatusOr<OwnerNote> note = OwnerNote::Write(path_, id_, last_sequence_);
  if (note.ok()) {
    note_.emplace(*std::move(note));
  } else if (!std::exchange(is_note_missing_, true)) {
    Log(Severity::kWarning,
        absl::StrCat(note.status().message(),
                     ". The file was removed while ms-scheduler was using the journal, and it can't be written again"));
  }
}

}  // namespace muster::scheduler
