// `ms-ctl journal show|verify FILE`: a journal on the disk, without a scheduler. Reads only.
#pragma once

#include <string>
#include <vector>

namespace muster::ctl {

// `words` behind "journal". Prints to stdout, errors to stderr. Returns the exit code: 0 shown, or sound; 1 damaged,
// held by a scheduler, or not to be decided by this version; 2 wrong usage.
int RunJournal(const std::vector<std::string>& words, bool json);

}  // namespace muster::ctl
