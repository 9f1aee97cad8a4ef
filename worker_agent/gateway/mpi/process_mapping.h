// How MPICH's ranks learn which of them share a machine.
#pragma once

#include <cstddef>
#include <string>

#include "worker_agent/gateway/chassis/round_layout.h"

namespace muster::agent {

// PMI-1's PMI_process_mapping: "(vector,(first machine,machines,ranks on each),…)". Empty where it is longer than a
// value may be: MPICH then finds out by itself.
std::string ProcessMapping(const RoundLayout& layout, size_t most_bytes);

}  // namespace muster::agent
