// Journals of older formats.
#pragma once

#include <string>

#include "absl/status/status.h"

struct sqlite3;

namespace muster::scheduler {

inline constexpr int kJournalFormat = 3;

// Where the journal of an older format is kept as it was.
std::string OldJournalPath(const std::string& path, int format);

// FAILED_PRECONDITION: one that is newer, or too old, with the way out.
absl::Status CheckJournalFormat(const std::string& path, int format);

// A whole copy under another name, as private as the journal and durable; what an interrupted attempt left there is
// replaced. Errors: see sqlite_words.h.
absl::Status CopyJournal(sqlite3* db, const std::string& path, const std::string& copy);

// Makes a journal of such a format one of kJournalFormat, in one transaction; before that it is copied to
// OldJournalPath. Killed in between, it is done again at the next start. Errors: see sqlite_words.h.
absl::Status MigrateJournal(sqlite3* db, const std::string& path, int from);

}  // namespace muster::scheduler
