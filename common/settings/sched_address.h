// The settings for the scheduler's address: --sched_host, which may also be HOST:PORT, and --sched_port.
#pragma once

#include <cstdint>
#include <string>

#include "absl/status/status.h"
#include "common/settings/settings.h"

namespace muster {

// Adds both settings. A host given as HOST:PORT ("node1:8118", "[::1]:8118") also sets the port. If sched_port is
// different, that is an error, unless it comes from a source of lower precedence: a flag's HOST:PORT overrides
// MS_SCHED_PORT, and both override a config line. `may_be_zero`: port 0 is allowed, and the kernel then chooses one.
// Returns the port's setting.
struct SchedAddressHelp {
  std::string host;
  std::string port;
};
Setting& AddSchedAddress(SettingsTable& table, std::string* host, uint16_t* port, bool may_be_zero,
                         SchedAddressHelp help);

// Parses a host name or numeric address, with or without a port; `port` becomes 0 if there is none. The error states
// only the rule.
absl::Status ParseHostAndPort(const std::string& text, std::string* host, uint16_t* port);

}  // namespace muster
