// Recognises the platform or launcher that started this agent by its environment: Slurm, an MPI launcher, Kubernetes.
// Pure.
#pragma once

#include <cstdint>
#include <map>
#include <string>

namespace muster::agent {

// Returns a hint for a user who has not set the number of workers: a sentence that names the platform, and the number
// to set. `slots` is the number of processes on this node. Empty if no platform is recognised, or if it has only one
// task.
std::string SurroundingsHint(const std::map<std::string, std::string>& environment, uint32_t slots);

}  // namespace muster::agent
