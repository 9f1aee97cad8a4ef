// A small file beside the journal, `<journal>.owner`. It names the process that has the journal open, for messages. It
// also has the sequence of the last acknowledged record, to detect a loss that SQLite can't see.
//
// Why it is needed: a write-ahead log may lose its end (someone restores an old copy, a frame is damaged, a file is
// removed). To SQLite that looks like a log that simply ends there.
//
// The owner writes the note after each commit and before it acknowledges the records, and never syncs it. So a note
// costs no disk access. Its number is right after kill -9; after a power cut it may be too low, which does no harm. The
// file has two lines: "<journal's id> <sequence, 20 digits> <checksum>" and "pid <pid> on <host>".
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>

#include "absl/status/statusor.h"
#include "common/base/unique_fd.h"
#include "scheduler/journal/journal_place.h"

namespace muster::scheduler {

// The first line of a note that an earlier process wrote.
struct OwnerWords {
  std::string journal_id;
  uint64_t acknowledged = 0;
};

std::string OwnerNotePath(const std::string& journal);

// Returns the note's first line; none: there is no note, or the line is incomplete or damaged. Never follows a link,
// and never blocks on a pipe, because any user who can write to the folder could have put one there. Such a file is an
// error, which describes it.
absl::StatusOr<std::optional<OwnerWords>> ReadOwnerNote(const std::string& journal);

// Returns the process that has the journal open, according to the note: "pid 123 on host7"; empty if it is not known.
std::string HolderOf(const std::string& journal);

// The open note of a journal, for the process that has the journal open. Not thread-safe.
class OwnerNote {
 public:
  // Rewrites the note and keeps it open. Only the journal's owner may call this.
  static absl::StatusOr<OwnerNote> Write(const std::string& journal, const std::string& journal_id,
                                         uint64_t acknowledged);
  // False: the note was removed, or another file has its name. True otherwise, also if the file can't
  // be examined.
  bool IsInPlace() const;

  // Writes `sequence` into the note. Call it before reporting this sequence as durable. If the write fails, the note
  // keeps an older, lower sequence, which does no harm.
  void Acknowledge(uint64_t sequence) const;

 private:
  OwnerNote(std::string path, UniqueFd file, std::string journal_id)
      : path_(std::move(path)), file_(std::move(file)), journal_id_(std::move(journal_id)) {}
  std::string path_;
  UniqueFd file_;
  FileIdentity identity_;
  std::string journal_id_;
};

}  // namespace muster::scheduler
