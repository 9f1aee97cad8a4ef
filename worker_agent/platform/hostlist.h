// Expands Slurm's short form of many host names, such as "n[1-3,07-09],m2". Pure.
#pragma once

#include <string>
#include <vector>

#include "absl/status/statusor.h"

namespace muster::agent {

inline constexpr size_t kMaxHosts = 65'536;  // the most hosts in one list

// Returns the names in the order of the list. Numbers have at least as many digits as the first one of their range:
// [07-11] is 07, 08, … 11. A name may have several brackets: "r[1-2]n[1-4]". The error says what is wrong and where.
absl::StatusOr<std::vector<std::string>> ExpandHostList(const std::string& text);

}  // namespace muster::agent
