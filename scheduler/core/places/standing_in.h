// Which spare stands in for which lost node, and what people can do for a run that waits for lost nodes. Pure.
#pragma once

#include <string>
#include <vector>

#include "common/base/clock.h"
#include "scheduler/core/state/state.h"

namespace muster::scheduler {

// Those that could stand in for a lost node, in the order in which they do.
std::vector<const Node*> SparesStandingBy(const Run& run);

// The first of `spares` that fits the lost node, taken out of them; null: none fits.
const Node* TakeSpareFor(const Node& lost, std::vector<const Node*>& spares);

// Empty: the run waits for no lost node.
std::string DescribeRemedy(const Run& run, MonotonicTime now);

}  // namespace muster::scheduler
