// The SQLite file under the journal: opening, checking, reading and writing. Format 3 (docs/journal_format.md):
//   meta(key, value)                        format = 3; id, a random name of this journal
//   records(sequence, checksum, body)       a v1.Record each, without gaps
//   snapshots(through, checksum, body)      at most one: what all records up to `through` amount to
// One thread at a time. Once Confirm returns OK, Append's records are durable and the next start will find them.
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

// Checks that this program can act on the body. DATA_LOSS, FAILED_PRECONDITION.
absl::Status CheckJournalEntry(const std::string& path, const JournalEntry& entry);

class SqliteFile {
 public:
  // Opens or creates the file, takes the lock, and checks everything: structure, sequences, checksums, each body by
  // `check`, and that no acknowledged record is missing (owner_note.h). Moves what an earlier process left in the
  // write-ahead log to the disk. Errors: see sqlite_words.h; those of `check`; FAILED_PRECONDITION also for a network
  // file system, and for another format (journal_format.h), which leaves the file unchanged.
  using EntryCheck = std::function<absl::Status(const std::string& path, const JournalEntry&)>;
  static absl::StatusOr<SqliteFile> Open(const std::string& path, const EntryCheck& check);

  SqliteFile(SqliteFile&&) = default;
  SqliteFile& operator=(SqliteFile&&) = delete;

  // Passes the snapshot, if any, then the records after it, oldest first.
  absl::Status ReadAll(const std::function<absl::Status(const JournalEntry&)>& take) const;

  // Writes one transaction. A snapshot replaces the previous one and the records up to it. RESOURCE_EXHAUSTED: the disk
  // is full and nothing was written.
  absl::Status Append(const std::deque<JournalEntry>& entries);

  // Call it after Append and before reporting anything as durable; also now and then without an Append. Checks that the
  // files are still at their paths, and writes them again if they were removed; then notes the acknowledged sequence.
  // RESOURCE_EXHAUSTED: the disk is full, call it again. FAILED_PRECONDITION: another file is there, or another process
  // holds the one that was written again.
  absl::Status Confirm();

  const std::string& path() const { return path_; }
  const std::string& id() const { return id_; }
  uint64_t last_sequence() const { return last_sequence_; }
  uint64_t snapshot_bytes() const { return snapshot_bytes_; }
  uint64_t record_bytes() const { return record_bytes_; }  // after the snapshot, when it was opened

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
  std::unique_ptr<int> log_frames_ = std::make_unique<int>(0);  // in the write-ahead log after the last commit
  std::unique_ptr<sqlite3, Closer> db_;
  std::string id_;
  std::optional<OwnerNote> note_;
  std::optional<JournalPlace> place_;
  bool is_place_unknown_ = false;  // and a warning was logged
  bool is_note_missing_ = false;   // the same
  uint64_t last_sequence_ = 0;
  uint64_t snapshot_bytes_ = 0;
  uint64_t record_bytes_ = 0;
};

}  // namespace muster::scheduler
