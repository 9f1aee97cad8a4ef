// The version of the journal's tables (docs/journal_format.md).
#pragma once

#include <string>

#include "absl/status/status.h"

namespace muster::scheduler {

inline constexpr int kJournalFormat = 3;

// Returns FAILED_PRECONDITION if this program can't read a journal of this format. The message says what to do.
absl::Status CheckJournalFormat(const std::string& path, int format);

}  // namespace muster::scheduler
