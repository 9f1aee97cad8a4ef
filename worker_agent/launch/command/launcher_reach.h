// How a launcher that is started once for the job (--per_job) reaches the job's other nodes. Pure but for looking for
// ssh in PATH.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "common/settings/settings.h"

namespace muster::agent {

// Without --allow_exec. `nodes`: of the job, as many as this one's slots need; 0: not known.
void CheckReach(const std::vector<std::string>& command, uint32_t nodes,
                const std::map<std::string, std::string>& environment, SettingsFindings& findings);

}  // namespace muster::agent
