// Words of other launchers (torchrun, msrun, mpirun, srun, horovodrun, deepspeed, accelerate) that are no settings
// here, and what to write instead. Pure.
#pragma once

#include <string>

#include "common/settings/settings.h"

namespace muster {

// Forbids each of these words that `table` has no setting for.
void ForbidForeignWords(SettingsTable& table);

// Returns the hint for such a word: `why` from the table, with the given value in place of {value}. Without a value, or
// with one that is too long to show, N stands there.
std::string ForeignWordHint(const std::string& why, const std::string& value);

}  // namespace muster
