// The SQLite file of a journal: opening, checking, reading and writing. Its tables (docs/journal_format.md, format 3):
//   meta(key, value)                        two rows: "format" is 3, "id" is a random name of this journal
//   records(sequence, checksum, body)       one v1.Record in each row; the sequences have no gaps
//   snapshots(through, checksum, body)      at most one row: the state after all records up to `through`
// Not thread-safe. Once Confirm returns OK, the appended records are durable and the next start will find them.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "scheduler/journal/journal_place.h"
#include "scheduler/journal/owner_note.h"

struct sqlite3;

namespace muster::scheduler {

// A record, or a snapshot of everything up to and including `sequence`.
struct JournalEntry {
  uint64_t sequence = 0;
  bool is_snapshot = false;
  std::string body;
};

// Checks that this program understands the entry's body. DATA_LOSS: the body is damaged. FAILED_PRECONDITION: a newer
// program wrote it.
absl::Status CheckJournalEntry(const std::string& path, const JournalEntry& entry);

class SqliteFile {
 public:
  // Opens or creates the file and locks it. Checks everything: the structure, the sequences, the checksums, each body
  // (with `check`), and that no acknowledged record is missing (owner_note.h). Moves the records that an earlier
  // process left in the write-ahead log into the database. Returns the errors of sqlite_words.h and of `check`.
  // FAILED_PRECONDITION also means that the file is on a network file system, or has another format (journal_format.h);
  // such a file is left unchanged.
  using EntryCheck = std::function<absl::Status(const std::string& path, const JournalEntry&)>;
  static absl::StatusOr<SqliteFile> Open(const std::string& path, const EntryCheck& check);

  SqliteFile(SqliteFile&&) = default;
  SqliteFile& operator=(SqliteFile&&) = delete;

  // Calls `take` with the snapshot, if there is one, and then with each record after it, oldest first.
  absl::Status ReadAll(const std::function<absl::Status(const JournalEntry&)>& take) const;

  // Writes the entries in one transaction. A snapshot replaces the previous snapshot, and the records that it covers.
  // RESOURCE_EXHAUSTED: the disk is full, and nothing was written.
  absl::Status Append(const std::deque<JournalEntry>& entries);

  // Call it after Append, before reporting anything as durable; also now and then without an Append. It checks that the
  // files are still at their paths, and writes them again if they were removed. Then it writes the last sequence into
  // the owner note. RESOURCE_EXHAUSTED: the disk is full; call it again. FAILED_PRECONDITION: another file is at one of
  // the paths, or another process has locked the file that was written again.
  absl::Status Confirm();

  const std::string& path() const { return path_; }
  const std::string& id() const { return id_; }
  uint64_t last_sequence() const { return last_sequence_; }
  uint64_t snapshot_bytes() const { return snapshot_bytes_; }
  uint64_t record_bytes() const { return record_bytes_; }  // of the records after the snapshot, at the time of Open

 private:
  struct Closer {
    void operator()(sqlite3* db) const;
  };
  explicit SqliteFile(std::string path) : path_(std::move(path)) {}

  absl::Status Connect();
  absl::Status Create();
  absl::Status CheckSchema();
  absl::Status CheckContent(const EntryCheck& check);
  absl::Status CheckNothingIsMissing() const;
  absl::Status Settle();
  absl::Status Write(const std::deque<JournalEntry>& entries);
  absl::Status KeepLogShort();
  // staying_in_place.cc
  absl::Status StayInPlace();
  absl::Status BeginLog();
  absl::Status WriteAgain();
  absl::Status EmptyLog();
  absl::Status OpenAgain(const FileIdentity& expected);
  void KeepNote();
  absl::StatusOr<std::string> ReadText(const char* sql) const;
  absl::Status Execute(const char* sql);

  std::string path_;
  std::unique_ptr<int> log_frames_ = std::make_unique<int>(0);  // frames in the write-ahead log after the last commit
  std::unique_ptr<sqlite3, Closer> db_;
  std::string id_;
  std::optional<OwnerNote> note_;
  std::optional<JournalPlace> place_;
  bool is_place_unknown_ = false;  // the files' places can't be checked now, and a warning was logged
  bool is_note_missing_ = false;   // the note can't be written, and a warning was logged
  uint64_t last_sequence_ = 0;
  uint64_t snapshot_bytes_ = 0;
  uint64_t record_bytes_ = 0;
};

}  // namespace muster::scheduler
