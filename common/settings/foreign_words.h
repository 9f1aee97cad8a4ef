// Flags of other launchers (torchrun, msrun, mpirun, srun, horovodrun, deepspeed, accelerate) that are no settings
// here, and hints what to write instead. Pure.
#pragma once

#include <string>

#include "common/settings/settings.h"

namespace muster {

// Forbids each of these flags, except those that `table` has as settings.
void ForbidForeignWords(SettingsTable& table);

// Returns the hint for such a flag: the text `why` from the table, with the given value in place of {value}. Puts N
// there if there is no value, or if it is too long to show.
std::string ForeignWordHint(const std::string& why, const std::string& value);

}  // namespace muster
