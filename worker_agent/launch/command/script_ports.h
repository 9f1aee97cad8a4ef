// Where a training script has PyTorch's store by its own text, whatever it is told. Reads what stands in the script
// itself; what other files do is not seen.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace muster::agent {

struct ScriptPorts {
  std::vector<uint16_t> ports;  // in digits; each once, at most 4
  bool are_computed = false;    // one is, so that nobody else can know it
};

// By os.environ["MASTER_PORT"] = …, and by tcp://HOST:PORT in a line with init_method or dist_url.
ScriptPorts PortsIn(std::string_view script);

// Of the first word of the command, or of its training programs (launchers.h), that names a Python file; of at most
// 1 MiB.
ScriptPorts PortsOfScript(const std::vector<std::string>& command);

}  // namespace muster::agent
