// A small file beside the journal, `<journal>.owner`: who holds the journal, for people, and the last sequence that was
// acknowledged, against loss that SQLite can't see.
//
// A write-ahead log that lost its end (a copy that is too old, a damaged frame, a file that somebody removed) looks to
// SQLite like one that simply ends there. The note is written after each commit and before its acknowledgement, and
// never synced: it costs no disk access, says the truth after kill -9, and after a power cut says at worst too little.
// Two lines: "<journal's id> <sequence, 20 digits> <checksum>", then "pid <pid> on <host>".
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>

#include "absl/status/statusor.h"
#include "common/base/unique_fd.h"
#include "scheduler/journal/journal_place.h"

namespace muster::scheduler {

// What an earlier life left.
struct OwnerWords {
  std::string journal_id;
  uint64_t acknowledged = 0;
};

std::string OwnerNotePath(const std::string& journal);

// Nothing when there is no note, or one that says nothing whole. Never follows a link or waits for a pipe: whoever may
// write to the folder could have put it there. The error says what stands in the note's place.
absl::StatusOr<std::optional<OwnerWords>> ReadOwnerNote(const std::string& journal);

// "pid 123 on host7"; empty if unknown.
std::string HolderOf(const std::string& journal);

// The holder's own hand. One thread at a time.
class OwnerNote {
 public:
  // Only the journal's holder may call this. Writes the whole note.
  static absl::StatusOr<OwnerNote> Write(const std::string& journal, const std::string& journal_id,
                                         uint64_t acknowledged);
  // False: it was removed, or another file has its name. Where the system doesn't tell, it is.
  bool IsInPlace() const;

  // Before anybody hears that `sequence` is durable. A write that fails leaves an older, lower word, which is true too.
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
