// Effects in words: one line each, short enough to be read, whole enough to be compared.
#pragma once

#include <string>
#include <vector>

#include "scheduler/core/state/events.h"

namespace muster::golden {

std::vector<std::string> Print(const scheduler::Effects& effects);

}  // namespace muster::golden
