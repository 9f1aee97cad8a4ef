// The hosts of -H and of host files, as Open MPI, MPICH's Hydra and Horovod write them. Pure.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"

namespace muster::ctl {

struct HostSlots {
  std::string name;
  uint32_t slots = 0;           // 0: not given
  std::string expression = {};  // a variable that holds the number, which only the shell knows
};

// Parses "a:4,b:4", "a,b", "[fd00::1]:4". Equal names are one host. The error gives only the rule.
absl::StatusOr<std::vector<HostSlots>> ParseHosts(const std::string& list);

// Parses the text of a host file.
absl::StatusOr<std::vector<HostSlots>> ParseHostFile(const std::string& text);

// Removes ":PORT", "[…]" and "user@" from the name; an IPv6 address without brackets stays whole.
std::string WithoutPort(const std::string& host);

// True for names that every machine takes for itself: localhost, 127.0.0.1, ::1, 0.0.0.0.
bool IsEachMachineItself(const std::string& host);

}  // namespace muster::ctl
