// The platform or launcher that started this agent, by its environment: Slurm, an MPI launcher, Kubernetes. Pure.
#pragma once

#include <cstdint>
#include <map>
#include <string>

namespace muster::agent {

// Returns, for an agent without a number of workers, one sentence on what this looks like and which number to write.
// `slots` is the number of processes on this node. Empty where nothing is recognised, or where there is but one task.
std::string SurroundingsHint(const std::map<std::string, std::string>& environment, uint32_t slots);

}  // namespace muster::agent
