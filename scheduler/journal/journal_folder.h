// Checks and prepares the journal's files before SQLite opens them.
#pragma once

#include <sys/types.h>
#include <unistd.h>

#include <string>

#include "absl/status/status.h"

namespace muster::scheduler {

// Returns the path of the copy that replaces a removed journal. The copy has this name until it is complete.
std::string UnfinishedCopyPath(const std::string& path);

// Makes and checks only the journal's folder, as PrepareJournalFile does. Call it before a removed journal is written
// again.
absl::Status PrepareJournalFolder(const std::string& path, uid_t self = geteuid());

// Syncs the folder of `path` to the disk, so that the names of its files are durable.
absl::Status SyncFolderOf(const std::string& path);

// Makes the journal's folder (mode 0700) and an empty journal file (mode 0600) where they are missing, and makes both
// durable. Returns an error if the journal can't be used there:
//
// - the folder is on a network file system, or permissions are missing
// - something other than a file has the journal's name
// - the journal is missing, but its write-ahead log exists (SQLite would delete the log)
// - the journal is missing, but an unfinished copy of it exists
// - `self` is 0 (root), and another user could have put files there: the folder and its files must belong to root, and
//   no other user may be able to write to them
absl::Status PrepareJournalFile(const std::string& path, uid_t self = geteuid());

}  // namespace muster::scheduler
