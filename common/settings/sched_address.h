// Where the scheduler is: --sched_host and --sched_port, and HOST:PORT for the host.
#pragma once

#include <cstdint>
#include <string>

#include "absl/status/status.h"
#include "common/settings/settings.h"

namespace muster {

// Both settings. HOST:PORT ("node1:8118", "[::1]:8118") for the host sets the port as well, unless another one was
// given: an error, but for a port that comes from further behind (a flag's HOST:PORT stands above MS_SCHED_PORT, and
// both above a config line). `may_be_zero`: port 0 is one that the kernel chooses. Returns the port's setting.
struct SchedAddressHelp {
  std::string host;
  std::string port;
};
void AddSchedAddress(SettingsTable& table, std::string* host, uint16_t* port, bool may_be_zero, SchedAddressHelp help);

// A host name or numeric address; `port` is 0 if none was given. The error says the rule only.
absl::Status ParseHostAndPort(const std::string& text, std::string* host, uint16_t* port);

}  // namespace muster
