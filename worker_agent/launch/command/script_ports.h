// The ports that a training script's own text fixes for PyTorch's store, whichever it is given. Reads only the script
// itself; other files' effects are not seen.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace muster::agent {

struct ScriptPorts {
  std::vector<uint16_t> ports;  // in digits; each once, at most 4
  bool are_computed = false;    // one is, so that only the script can know it
};

// Looks for os.environ["MASTER_PORT"] = …, and for tcp://HOST:PORT in a line with init_method or dist_url.
ScriptPorts PortsIn(std::string_view script);

// Reads the first word of the command, or of its training programs (launchers.h), that names a Python file; at most 1
// MiB of it.
ScriptPorts PortsOfScript(const std::vector<std::string>& command);

}  // namespace muster::agent
