// What has to be true of the files before SQLite sees them.
#pragma once

#include <sys/types.h>
#include <unistd.h>

#include <string>

#include "absl/status/status.h"

namespace muster::scheduler {

// Where a journal that somebody has removed is made again, until it is whole.
std::string UnfinishedCopyPath(const std::string& path);

// The part below that is about the folder: for a journal that is written again after somebody has removed it.
absl::Status PrepareJournalFolder(const std::string& path, uid_t self = geteuid());

// Brings to the disk which files are in the folder of `path`.
absl::Status SyncFolderOf(const std::string& path);

// Makes the journal's folder (durable, mode 0700 where it is new) and an empty file (mode 0600) if there is none, and
// says why it can't be used: a network file system, no rights, a folder of that name, a write-ahead log without its
// journal (SQLite would delete it), a copy that was being made of a journal that is gone. Root (`self` is 0) also
// refuses what another user could have put there: the folder and its files are root's, and nobody else can write to
// them.
absl::Status PrepareJournalFile(const std::string& path, uid_t self = geteuid());

}  // namespace muster::scheduler
