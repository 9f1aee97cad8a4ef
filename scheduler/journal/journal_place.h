// Checks that a journal's files are still at the paths under which they were opened.
//
// A removed file still accepts writes, but the next start doesn't find it. So the writer thread checks before it
// reports anything as durable. A check reads no disk: it calls lstat twice.
#pragma once

#include <sys/types.h>

#include <string>

#include "absl/status/statusor.h"

namespace muster::scheduler {

// A file's numbers, which no other file gets while it is open.
struct FileIdentity {
  dev_t device = 0;
  ino_t inode = 0;
  bool operator==(const FileIdentity&) const = default;
};

// NOT_FOUND: nothing is there. UNAVAILABLE: the system does not answer. Does not follow a link in the last place.
absl::StatusOr<FileIdentity> IdentityOf(const std::string& path);

class JournalPlace {
 public:
  // For a journal that is open with its log. Errors as those of IdentityOf.
  static absl::StatusOr<JournalPlace> Of(const std::string& path);

  enum class State {
    kInPlace,
    kLogIsGone,  // the journal is there, its log is not
    kIsGone,     // the journal is not there
    kIsAnother,  // another file is there, or another log
    kUnknown,    // the system does not answer, which is no news of the files
  };
  struct Found {
    State state = State::kInPlace;
    std::string words;  // kIsAnother: the path; kUnknown: the system's error
  };
  Found Look() const;

  const FileIdentity& journal() const { return journal_; }

 private:
  std::string path_;
  FileIdentity journal_;
  FileIdentity log_;
};

}  // namespace muster::scheduler
