// Reads a journal on the disk for people. It reads a copy, so that nothing in the journal changes, not even its log is
// merged.
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
  // Copies it to a private folder in `temporary` and makes all checks of a scheduler's start. Returns their errors, and
  // FAILED_PRECONDITION if a scheduler holds the journal, so that a copy would not be whole.
  static absl::StatusOr<JournalReader> Open(const std::string& path, const std::string& temporary);

  JournalReader(JournalReader&& other) noexcept;
  JournalReader& operator=(JournalReader&&) = delete;
  ~JournalReader();  // removes the copy

  // Passes the snapshot, if any (its sequence is that of its last record), then the records, oldest first.
  absl::Status Read(const std::function<void(uint64_t sequence, const v1::Record& record)>& take) const;

  const std::string& id() const { return file_.id(); }

 private:
  JournalReader(std::string folder, SqliteFile file) : folder_(std::move(folder)), file_(std::move(file)) {}

  std::string folder_;  // empty: moved from
  SqliteFile file_;
};

}  // namespace muster::scheduler
