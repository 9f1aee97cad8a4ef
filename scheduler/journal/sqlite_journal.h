// The journal on disk: SQLite, one writer thread, group commit. docs/journal_format.md describes the format.
//
// Only one process can have the file open. Append only queues records. The writer thread commits all queued records as
// one transaction and then calls on_durable. The queue has no limit, so the caller must refuse new work while
// IsStalled().
//
// - A commit fails: the process ends (exit 1, one line), because after a failed fsync it is unknown what is on the
//   disk.
// - The disk is full: the records stay queued, the commit is tried again every 250 ms, and IsStalled() is true until it
//   succeeds.
// - The files were removed: they are written again before on_durable is called, or within a second if nothing is
//   appended.
// - Other files are at their paths: the process ends (SqliteFile::Confirm).
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "scheduler/journal/journal.h"

namespace muster::scheduler {

class SqliteJournal : public Journal {
 public:
  // Opens or creates the journal at `path`, and its folder. Checks all its content, so that Replay can't fail halfway.
  // An error says what to do. See SqliteFile::Open.
  static absl::StatusOr<std::unique_ptr<SqliteJournal>> Open(const std::string& path);

  // Commits the queued records and closes the file. On a full disk it drops them, which breaks no promise: they were
  // never acknowledged.
  ~SqliteJournal() override;

  absl::Status Replay(const std::function<void(const v1::Record&)>& take) override;
  uint64_t Append(std::vector<v1::Record> records) override;

  // True if the records since the last snapshot exceed both 4 MiB and four times the size of that snapshot.
  bool WantsSnapshot() const override;
  void AppendSnapshot(JournalSnapshot snapshot) override;

  void SetOnDurable(std::function<void(uint64_t)> on_durable) override;
  bool IsStalled() const override;
  uint64_t Bytes() const override;
  bool IsPersistent() const override { return true; }
  std::string Describe() const override;

 private:
  class Impl;
  explicit SqliteJournal(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace muster::scheduler
