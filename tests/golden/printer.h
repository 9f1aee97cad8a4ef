// Prints effects as text: one line each, short enough to read, complete enough to compare.
#pragma once

#include <string>
#include <vector>

#include "scheduler/core/state/events.h"

namespace muster::golden {

std::vector<std::string> Print(const scheduler::Effects& effects);

}  // namespace muster::golden
