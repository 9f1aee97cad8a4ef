// The commands of ms-ctl.
#pragma once

#include <string>
#include <vector>

#include "common/settings/settings.h"
#include "ctl/ctl_settings.h"

namespace muster::ctl {

// Carries out `words` (a command and its arguments), prints to stdout, errors to stderr. Returns the exit code: 0 done,
// 1 refused (or, for watch, the job failed), 2 wrong usage, 10 the scheduler can't be reached, 14 lost while watching.
int RunCommand(const std::vector<std::string>& words, const CtlSettings& settings, const SettingsTable& table);

}  // namespace muster::ctl
