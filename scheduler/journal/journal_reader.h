// A journal on the disk, read for people. It is read from a copy: nothing of it changes, not even its log is brought
// into it.
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
  // Copies it to a private folder in `temporary` and checks all that a scheduler checks at its start. The same errors;
  // besides FAILED_PRECONDITION: a scheduler holds it, so that a copy would not be whole.
  static absl::StatusOr<JournalReader> Open(const std::string& path, const std::string& temporary);

  JournalReader(JournalReader&& other) noexcept;
  JournalReader& operator=(JournalReader&&) = delete;
  ~JournalReader();  // removes the copy

  // The snapshot (its sequence is that of the last record in it), if there is one, then the records, oldest first.
  absl::Status Read(const std::function<void(uint64_t sequence, const v1::Record& record)>& take) const;

  const std::string& id() const { return file_.id(); }

 private:
  JournalReader(std::string folder, SqliteFile file) : folder_(std::move(folder)), file_(std::move(file)) {}

  std::string folder_;  // empty: moved from
  SqliteFile file_;
};

}  // namespace muster::scheduler
