// Chooses the spare that stands in for a lost node, and says how people can help a run that waits for lost nodes. Pure.
#pragma once

#include <string>
#include <vector>

#include "common/base/clock.h"
#include "scheduler/core/state/state.h"

namespace muster::scheduler {

// Returns the spares that could stand in for a lost node, in the order in which they do.
std::vector<const Node*> SparesStandingBy(const Run& run);

// Removes the first of `spares` that fits the lost node and returns it; null: none fits.
const Node* TakeSpareFor(const Node& lost, std::vector<const Node*>& spares);

// Returns an empty text if the run waits for no lost node.
std::string DescribeRemedy(const Run& run, MonotonicTime now);

}  // namespace muster::scheduler
