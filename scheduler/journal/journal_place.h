// Whether a journal's files still stand at the paths under which they were opened.
//
// A file that somebody removes takes what is written to it as before, and the next start doesn't find it. So the thread
// that writes looks before anybody hears that something is durable. A look reads no disk: two calls of lstat.
#pragma once

#include <sys/types.h>

#include <string>

#include "absl/status/statusor.h"

namespace muster::scheduler {

// While a file is open no other one gets its numbers.
struct FileIdentity {
  dev_t device = 0;
  ino_t inode = 0;
  bool operator==(const FileIdentity&) const = default;
};

// NOT_FOUND: nothing stands there. UNAVAILABLE: the system doesn't tell. Follows no link in the last place.
absl::StatusOr<FileIdentity> IdentityOf(const std::string& path);

class JournalPlace {
 public:
  // Of a journal that is open, and so is its log. The errors of IdentityOf.
  static absl::StatusOr<JournalPlace> Of(const std::string& path);

  enum class State {
    kInPlace,
    kLogIsGone,  // the journal is there, its log is not
    kIsGone,     // the journal is not there
    kIsAnother,  // another file is there, or another log
    kUnknown,    // the system doesn't tell, which says nothing about the files
  };
  struct Found {
    State state = State::kInPlace;
    std::string words;  // kIsAnother: the path; kUnknown: what the system says
  };
  Found Look() const;

  const FileIdentity& journal() const { return journal_; }

 private:
  std::string path_;
  FileIdentity journal_;
  FileIdentity log_;
};

}  // namespace muster::scheduler
