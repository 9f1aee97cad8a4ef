// Parses settings that have a syntax of their own: signals, port ranges, lists of numbers, CPU bindings, NAME=VALUE.
// Pure.
//
// Errors state only the rule ("must be …"), as in values.h.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "common/base/number_list.h"

namespace muster {

// Parses "TERM", "SIGTERM", "term" or "15" → 15. Refuses STOP, CONT and other signals that end nothing.
absl::StatusOr<int> ParseSignal(const std::string& text);

// Parses "20000-20100", both from 1024 to 65535.
absl::StatusOr<NumberRange> ParsePortRange(const std::string& text);

inline constexpr NumberRange kAllRanks{0, UINT32_MAX};

// Parses the value of --tail: "none" (no range), "all" (kAllRanks; also msrun's -1) or "0,3-5".
absl::StatusOr<std::vector<NumberRange>> ParseTail(const std::string& text);

// The value of --bind_core.
struct CoreBinding {
  bool is_auto = false;
  bool is_device = false;                     // each process gets the CPUs of the NUMA node that its device belongs to
  std::map<uint32_t, std::vector<int>> cpus;  // local rank → its CPUs in order, none twice
  bool is_off() const { return !is_auto && !is_device && cpus.empty(); }
};

// Parses --bind_core. "", "false" or "0" binds nothing. "auto", "true" or "1" gives each process a share of the CPUs.
// "device" gives each process the CPUs near its device. Any other value lists local ranks and their CPUs:
// "0:0-3;1:4-7,12", or in msrun's form {"device0":["0-3"],"device1":["4-7","12"]}.
absl::StatusOr<CoreBinding> ParseCoreBinding(const std::string& text);

// Parses "NAME=VALUE". NAME must be a name for a shell's variable; VALUE may be empty.
absl::StatusOr<std::pair<std::string, std::string>> ParseVariable(const std::string& text);

// Parses "rack=r1" or "rack=r1,switch=s3" → pairs in order; keys and values of [A-Za-z0-9._-].
absl::StatusOr<std::vector<std::pair<std::string, std::string>>> ParseLabels(const std::string& text);

}  // namespace muster
