// A small file beside the journal, `<journal>.owner`: the journal's holder, for people, and the last acknowledged
// sequence, to detect a loss that SQLite can't see.
//
// A write-ahead log that lost its end (an old copy, a damaged frame, a removed file) looks to SQLite like one that
// simply ends there. The note is written after each commit and before its acknowledgement, and never synced. So it
// costs no disk access, is right after kill -9, and after a power cut gives at worst too low a number. Two lines:
// "<journal's id> <sequence, 20 digits> <checksum>", then "pid <pid> on <host>".
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>

#include "absl/status/statusor.h"
#include "common/base/unique_fd.h"
#include "scheduler/journal/journal_place.h"

namespace muster::scheduler {

// The content that an earlier process left.
struct OwnerWords {
  std::string journal_id;
  uint64_t acknowledged = 0;
};

std::string OwnerNotePath(const std::string& journal);

// Returns none if there is no note, or no whole one. Never follows a link or blocks on a pipe: any user who can write
// to the folder could have put one there. The error describes what is in the note's place.
absl::StatusOr<std::optional<OwnerWords>> ReadOwnerNote(const std::string& journal);

// Returns "pid 123 on host7"; empty if unknown.
std::string HolderOf(const std::string& journal);

// The journal owner's handle on the note. One thread at a time.
class OwnerNote {
 public:
  // Rewrites the note. Only the journal's owner may call this.
  static absl::StatusOr<OwnerNote> Write(const std::string& journal, const std::string& journal_id,
                                         uint64_t acknowledged);
  // False: the note was removed, or another file has its name. True if the system does not answer.
  bool IsInPlace() const;

  // Call it before reporting `sequence` as durable. A failed write leaves an older, lower number, which is true as
  // well.
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
