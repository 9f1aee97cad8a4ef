// Finds the ports that a training script's text fixes for PyTorch's store. Such a script ignores MASTER_PORT. Reads
// only the script itself, not the modules that it imports.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace muster::agent {

struct ScriptPorts {
  std::vector<uint16_t> ports;  // those written as numbers; each once, at most 4
  bool are_computed = false;    // the script computes a port, so that only a run of it can show the number
};

// Searches a script's text for os.environ["MASTER_PORT"] = …, and for tcp://HOST:PORT in lines with init_method or
// dist_url.
ScriptPorts PortsIn(std::string_view script);

// Does the same for the first Python file that a word of the command, or of its training programs (launchers.h), names.
// Reads at most 1 MiB of it.
ScriptPorts PortsOfScript(const std::vector<std::string>& command);

}  // namespace muster::agent
