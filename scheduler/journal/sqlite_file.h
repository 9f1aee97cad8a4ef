// The SQLite file under the journal: opening, checking, reading and writing. Format 3 (docs/journal_format.md):
//   meta(key, value)                        format = 3; id, a random name of this journal
//   records(sequence, checksum, body)       a v1.Record each, without gaps
//   snapshots(through, checksum, body)      at most one: what all records up to `through` amount to
// One thread at a time. What Append was given is durable and will be found by the next start once Confirm returns OK.
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

// What is to be known of each body: that this program can decide by it. DATA_LOSS, FAILED_PRECONDITION.
absl::Status CheckJournalEntry(const std::string& path, const JournalEntry& entry);

class SqliteFile {
 public:
  // Opens or creates, takes the lock, and checks everything: structure, sequences, checksums, each body by `check`, and
  // that nothing is missing that was acknowledged (owner_note.h). What an earlier life left in the write-ahead log is
  // brought to the disk. Errors: see sqlite_words.h; those of `check`; FAILED_PRECONDITION also for a network file
  // system, and for another format (journal_format.h), which leaves the file as it is.
  using EntryCheck = std::function<absl::Status(const std::string& path, const JournalEntry&)>;
  static absl::StatusOr<SqliteFile> Open(const std::string& path, const EntryCheck& check);

  SqliteFile(SqliteFile&&) = default;
  SqliteFile& operator=(SqliteFile&&) = delete;

  // The snapshot, if there is one, then the records after it, oldest first.
  absl::Status ReadAll(const std::function<absl::Status(const JournalEntry&)>& take) const;

  // One transaction. A snapshot takes the place of the one before and of the records up to it. RESOURCE_EXHAUSTED: the
  // disk is full and nothing was written.
  absl::Status Append(const std::deque<JournalEntry>& entries);

  // After Append and before anybody hears of it; now and then also without one. Sees that the files still stand at
  // their paths, and writes them there again if somebody has removed them; then notes what is acknowledged.
  // RESOURCE_EXHAUSTED: the disk is full, call it again. FAILED_PRECONDITION: another file stands there, or another
  // process holds the one that was written again.
  absl::Status Confirm();

  const std::string& path() const { return path_; }
  const std::string& id() const { return id_; }
  uint64_t last_sequence() const { return last_sequence_; }
  uint64_t snapshot_bytes() const { return snapshot_bytes_; }
  uint64_t record_bytes() const { return record_bytes_; }  // behind the snapshot, when it was opened

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
  bool is_place_unknown_ = false;  // and somebody heard of it
  bool is_note_missing_ = false;   // likewise
  uint64_t last_sequence_ = 0;
  uint64_t snapshot_bytes_ = 0;
  uint64_t record_bytes_ = 0;
};

}  // namespace muster::scheduler
