// Words of other launchers (torchrun, msrun, mpirun, srun, horovodrun, deepspeed, accelerate) that are no settings
// here, and what to write instead. Pure.
#pragma once

#include <string>

#include "common/settings/settings.h"

namespace muster {

// Forbids each of them that `table` has no setting for.
void ForbidForeignWords(SettingsTable& table);

// What is said of such a word: `why` as it stands in the table, with what was given in the place of {value}. Without a
// value, or with one that is too long to be shown, N stands there.
std::string ForeignWordHint(const std::string& why, const std::string& value);

}  // namespace muster
