// Which MASTER_PORT a training script sets itself, whatever it is told: the store listens there, too, or its processes
// would wait for one that nobody serves. Reads what stands in the script's own text; what it computes is not seen.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace muster::agent {

// Of assignments such as os.environ["MASTER_PORT"] = "29500", and of init_method="tcp://node1:29500". Each once, at
// most 4.
std::vector<uint16_t> MasterPortsIn(std::string_view script);

// Of the first word of the command that is a readable Python file of at most 1 MiB.
std::vector<uint16_t> MasterPortsOfCommand(const std::vector<std::string>& command);

}  // namespace muster::agent
