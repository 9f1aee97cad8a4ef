// Reads a journal on the disk, for `ms-ctl journal`. It reads a copy, so that the journal does not change at all. (If
// SQLite opened the journal itself, it would merge the write-ahead log into it.)
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "muster/v1/journal.pb.h"
#include "scheduler/journal/sqlite_file.h"

namespace muster::scheduler {

class JournalReader {
 public:
  // Copies the journal at `path` to a private folder in `temporary`, and makes all checks that a scheduler makes at its
  // start. Returns the error of the first check that fails. FAILED_PRECONDITION also means that a scheduler has the
  // journal open; a copy could then be inconsistent.
  static absl::StatusOr<JournalReader> Open(const std::string& path, const std::string& temporary);

  JournalReader(JournalReader&& other) noexcept;
  JournalReader& operator=(JournalReader&&) = delete;
  ~JournalReader();  // removes the copy

  // Calls `take` with the snapshot, if there is one, and then with each record after it, oldest first. The sequence of
  // a snapshot is that of the last record that it covers.
  absl::Status Read(const std::function<void(uint64_t sequence, const v1::Record& record)>& take) const;

  const std::string& id() const { return file_.id(); }

 private:
  JournalReader(std::string folder, SqliteFile file) : folder_(std::move(folder)), file_(std::move(file)) {}

  std::string folder_;  // empty after a move
  SqliteFile file_;
};

}  // namespace muster::scheduler
