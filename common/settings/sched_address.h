// The scheduler's address: --sched_host and --sched_port, and HOST:PORT for the host.
#pragma once

#include <cstdint>
#include <string>

#include "absl/status/status.h"
#include "common/settings/settings.h"

namespace muster {

// Adds both settings. HOST:PORT ("node1:8118", "[::1]:8118") for the host sets the port as well. A different port is an
// error, unless it comes from a source of lower precedence: a flag's HOST:PORT overrides MS_SCHED_PORT, and both
// override a config line. `may_be_zero`: with port 0 the kernel chooses a port. Returns the port's setting.
struct SchedAddressHelp {
  std::string host;
  std::string port;
};
Setting& AddSchedAddress(SettingsTable& table, std::string* host, uint16_t* port, bool may_be_zero,
                         SchedAddressHelp help);

// Parses a host name or numeric address; `port` is 0 if none was given. The error says the rule only.
absl::Status ParseHostAndPort(const std::string& text, std::string* host, uint16_t* port);

}  // namespace muster
