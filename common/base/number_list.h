// Lists of numbers as people write them: "0,3-5".
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"

namespace muster {

inline constexpr uint32_t kHighestCpu = 8191;  // Linux can be built for at most 8,192 CPUs

// A range with both ends inclusive; low ≤ high.
struct NumberRange {
  uint32_t low = 0;
  uint32_t high = 0;
  bool contains(uint32_t number) const { return low <= number && number <= high; }
  bool operator==(const NumberRange&) const = default;
};

// True if one of the ranges has the number.
bool Contains(const std::vector<NumberRange>& ranges, uint32_t number);

// Returns the ranges as written. Spaces around numbers are allowed. A number above `highest`, a falling range, an empty
// item and more than 4,096 items are errors, which name the item.
absl::StatusOr<std::vector<NumberRange>> ParseNumberRanges(const std::string& text, uint32_t highest);

}  // namespace muster
