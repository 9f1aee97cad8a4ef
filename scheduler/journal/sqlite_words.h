// Makes error messages about the journal's file, with advice for the operator.
#pragma once

#include <string>

#include "absl/status/status.h"

struct sqlite3;

namespace muster::scheduler {

// Returns SQLite's last error on `db` as a status. `db` null: there was no memory to open it. `doing` is the operation
// that failed: "opened", "read" or "written".
//   RESOURCE_EXHAUSTED   no room on the disk, or over the quota; nothing was written
//   FAILED_PRECONDITION  another process has locked it
//   PERMISSION_DENIED    it can't be opened or written
//   DATA_LOSS            damaged
//   INTERNAL             anything else, such as an error of the disk
absl::Status SqliteError(sqlite3* db, const std::string& path, const std::string& doing);

// Returns DATA_LOSS with advice. `what` describes the damage, such as "record 7 is missing".
absl::Status DamagedJournal(const std::string& path, const std::string& what);

// Returns the status of a system call that failed with the errno `error`: RESOURCE_EXHAUSTED if the disk is full, else
// PERMISSION_DENIED. `what` says what can't be done, such as "the journal X can't be made".
absl::Status UnusableJournal(const std::string& what, int error);

}  // namespace muster::scheduler
