// Lists of numbers as people write them: "0,3-5".
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"

namespace muster {

// Inclusive ranges, as written. Spaces around items are allowed; a number above `highest`, a range that falls, an empty
// item and more than 4,096 items are errors, which name the item.
absl::StatusOr<std::vector<std::pair<uint32_t, uint32_t>>> ParseNumberRanges(const std::string& text, uint32_t highest);

}  // namespace muster
