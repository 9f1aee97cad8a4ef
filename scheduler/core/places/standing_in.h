// Chooses the spare that stands in for a lost node, and describes how people can help a run that waits for lost nodes.
// Pure.
#pragma once

#include <string>
#include <vector>

#include "common/base/clock.h"
#include "scheduler/core/state/state.h"

namespace muster::scheduler {

// Returns the spares that could stand in for a lost node, in the order in which they are used.
std::vector<const Node*> SparesStandingBy(const Run& run);

// Removes the first spare that fits the lost node from `spares` and returns it; null if none fits.
const Node* TakeSpareFor(const Node& lost, std::vector<const Node*>& spares);

// Returns advice for people, or an empty text if the run waits for no lost node.
std::string DescribeRemedy(const Run& run, MonotonicTime now);

}  // namespace muster::scheduler
