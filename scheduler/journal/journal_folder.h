// Checks and prepares the journal's files before SQLite opens them.
#pragma once

#include <sys/types.h>
#include <unistd.h>

#include <string>

#include "absl/status/status.h"

namespace muster::scheduler {

// Returns the path at which a removed journal is rebuilt, until it is whole.
std::string UnfinishedCopyPath(const std::string& path);

// Does the folder's part of PrepareJournalFile: for a journal that is written again after it was removed.
absl::Status PrepareJournalFolder(const std::string& path, uid_t self = geteuid());

// Syncs to the disk which files are in the folder of `path`.
absl::Status SyncFolderOf(const std::string& path);

// Makes the journal's folder (durable, mode 0700 if it is new) and an empty file (mode 0600) if there is none. Fails,
// with the reason, if it can't be used: a network file system, missing permissions, a folder of that name, a
// write-ahead log without its journal (SQLite would delete it), an unfinished copy of a journal that is gone. Root
// (`self` is 0) also refuses files that another user could have put there: the folder and its files must be root's, and
// no one else may write to them.
absl::Status PrepareJournalFile(const std::string& path, uid_t self = geteuid());

}  // namespace muster::scheduler
