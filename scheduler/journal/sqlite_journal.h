// The journal on disk: SQLite, one writer thread, group commit. The format stands in docs/journal_format.md.
//
// One process holds the file. Append only queues; the writer commits everything that is queued as one transaction and
// then calls on_durable. What an fsync that failed has lost can't be known, so any failure to commit ends the process
// (exit 1, one line) except a full disk: records stay queued, the commit is tried again every 250 ms, and IsStalled()
// is true meanwhile. Files that somebody removes are written again before on_durable is called, and within a second
// where nothing is appended; another file in their place ends the process (SqliteFile::Confirm). The queue itself has
// no bound: whoever appends keeps new work out while the journal is stalled.
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
  // Opens or creates `path`, and its folder. Everything that is there is checked first: what Replay hands out is whole,
  // or the start is refused, in words that say what to do. See SqliteFile::Open.
  static absl::StatusOr<std::unique_ptr<SqliteJournal>> Open(const std::string& path);

  // Commits what is queued, and closes. On a full disk what is still queued is dropped: it was never acknowledged.
  ~SqliteJournal() override;

  absl::Status Replay(const std::function<void(const v1::Record&)>& take) override;
  uint64_t Append(std::vector<v1::Record> records) override;

  // When the records since the last snapshot exceed 4 MiB and four times that snapshot.
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
