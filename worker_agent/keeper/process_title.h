// What ps shows as this process's command line.
#pragma once

#include <string_view>

namespace muster::agent {

// Overwrites the arguments that the process was started with, cut to their room: a keeper that showed the agent's own
// command line would fall to every `pkill -f train.py`. Nobody may read argv after this.
void SetProcessTitle(std::string_view title);

}  // namespace muster::agent
