// Checks that a journal's files are still at the paths under which they were opened.
//
// A removed file still accepts writes, but the next start doesn't find it. So the writer thread checks before it
// reports anything as durable. A check reads no disk: it calls lstat twice.
#pragma once

#include <sys/types.h>

#include <string>

#include "absl/status/statusor.h"

namespace muster::scheduler {

// The numbers by which the kernel identifies a file. No other file can get them while this one is open.
struct FileIdentity {
  dev_t device = 0;
  ino_t inode = 0;
  bool operator==(const FileIdentity&) const = default;
};

// Returns the identity of the file at `path`; if that is a link, of the link itself. NOT_FOUND: there is no file.
// UNAVAILABLE: the kernel returned another error.
absl::StatusOr<FileIdentity> IdentityOf(const std::string& path);

class JournalPlace {
 public:
  // Notes the identities of the journal at `path` and of its log. Both must be open. Returns IdentityOf's errors.
  static absl::StatusOr<JournalPlace> Of(const std::string& path);

  enum class State {
    kInPlace,
    kLogIsGone,  // the journal is at its path, but there is no file at its log's path
    kIsGone,     // there is no file at the journal's path
    kIsAnother,  // another file is at the journal's path, or at its log's path
    kUnknown,    // lstat failed for another reason, which says nothing about the files
  };
  struct Found {
    State state = State::kInPlace;
    std::string words;  // kIsAnother: the path of the other file; kUnknown: the system's error
  };
  // Checks which files are at the two paths now.
  Found Look() const;

  const FileIdentity& journal() const { return journal_; }

 private:
  std::string path_;
  FileIdentity journal_;
  FileIdentity log_;
};

}  // namespace muster::scheduler
