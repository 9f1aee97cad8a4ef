// The version of the journal's tables (docs/journal_format.md).
#pragma once

#include <string>

#include "absl/status/status.h"

namespace muster::scheduler {

inline constexpr int kJournalFormat = 3;

// FAILED_PRECONDITION: this program can't read a journal of that format. The message gives the remedy.
absl::Status CheckJournalFormat(const std::string& path, int format);

}  // namespace muster::scheduler
