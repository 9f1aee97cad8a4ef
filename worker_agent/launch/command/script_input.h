// Whether a command reads its script from standard input, as `python - <<EOF` does. Reads shell scripts (started.h).
#pragma once

#include <string>
#include <vector>

#include "common/settings/settings.h"

namespace muster::agent {

// For processes whose standard input is empty: such a command runs nothing, and ends well. A warning.
void CheckScriptInput(const std::vector<std::string>& command, SettingsFindings& findings);

}  // namespace muster::agent
