// The journal on disk: SQLite, one writer thread, group commit. docs/journal_format.md describes the format.
//
// One process holds the file. Append only queues. The writer commits all queued records as one transaction and then
// calls on_durable. After a failed fsync it is unknown what was lost. So any failed commit ends the process (exit 1,
// one line), except on a full disk: records stay queued, the commit is tried again every 250 ms, and IsStalled() is
// true meanwhile. Removed files are written again before on_durable is called, or within a second if nothing is
// appended. Another file in their place ends the process (SqliteFile::Confirm). The queue itself has no limit: its user
// must refuse new work while the journal is stalled.
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
  // Opens or creates `path`, and its folder. Checks all content first: what Replay passes is whole, or the start fails
  // with advice. See SqliteFile::Open.
  static absl::StatusOr<std::unique_ptr<SqliteJournal>> Open(const std::string& path);

  // Commits what is queued, and closes. On a full disk drops it: it was never acknowledged.
  ~SqliteJournal() override;

  absl::Status Replay(const std::function<void(const v1::Record&)>& take) override;
  uint64_t Append(std::vector<v1::Record> records) override;

  // True if the records since the last snapshot exceed 4 MiB and four times that snapshot.
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
