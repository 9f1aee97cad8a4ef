// What started this agent, as its environment tells: Slurm, an MPI launcher, Kubernetes. Pure.
#pragma once

#include <cstdint>
#include <map>
#include <string>

namespace muster::agent {

// For an agent that was told no number of workers: one sentence on what this looks like and which number to write.
// `slots` is what this node runs. Empty where nothing is recognised, or where there is but one task.
std::string SurroundingsHint(const std::map<std::string, std::string>& environment, uint32_t slots);

}  // namespace muster::agent
