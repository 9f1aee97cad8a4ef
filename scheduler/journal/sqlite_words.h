// Errors of the journal's file, with advice.
#pragma once

#include <string>

#include "absl/status/status.h"

struct sqlite3;

namespace muster::scheduler {

// Returns SQLite's last error on `db` (may be null) while the journal was being `doing`: "opened", "read", "written".
//   RESOURCE_EXHAUSTED   no room on the disk, or over the quota: nothing was written
//   FAILED_PRECONDITION  another process holds it
//   PERMISSION_DENIED    it can't be opened or written
//   DATA_LOSS            damaged
//   INTERNAL             anything else: the disk gives errors, …
absl::Status SqliteError(sqlite3* db, const std::string& path, const std::string& doing);

// Returns DATA_LOSS with the remedy: `what` is "record 7 is missing".
absl::Status DamagedJournal(const std::string& path, const std::string& what);

// Returns PERMISSION_DENIED, or RESOURCE_EXHAUSTED on a full disk: `what` failed with this errno.
absl::Status UnusableJournal(const std::string& what, int error);

}  // namespace muster::scheduler
