// Parses the hosts in the option -H and in host files, in the forms of Open MPI, MPICH's Hydra and Horovod. Pure.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"

namespace muster::ctl {

struct HostSlots {
  std::string name;
  uint32_t slots = 0;           // 0: not given, or see `expression`
  std::string expression = {};  // a shell variable that has the number of slots; its value is not known here
};

// Parses the value of -H, such as "a:4,b:4", "a,b" or "[fd00::1]:4". The same name twice is one host. The error does
// not name the option.
absl::StatusOr<std::vector<HostSlots>> ParseHosts(const std::string& list);

// Parses the text of a host file.
absl::StatusOr<std::vector<HostSlots>> ParseHostFile(const std::string& text);

// Returns the name without ":PORT", brackets and "user@". An IPv6 address without brackets is returned as it is.
std::string WithoutPort(const std::string& host);

// True for names by which every machine means itself: localhost, 127.0.0.1, ::1, 0.0.0.0.
bool IsEachMachineItself(const std::string& host);

}  // namespace muster::ctl
