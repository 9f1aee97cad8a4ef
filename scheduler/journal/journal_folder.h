// What has to be true of the files before SQLite sees them.
#pragma once

#include <string>

#include "absl/status/status.h"

namespace muster::scheduler {

// Makes the journal's folder (durable, mode 0700 where it is new) and an empty file (mode 0600) if there is none, and
// says why it can't be used: a network file system, no rights, a folder of that name, a write-ahead log without its
// journal (SQLite would delete it).
absl::Status PrepareJournalFile(const std::string& path);

}  // namespace muster::scheduler
