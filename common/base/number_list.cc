#include "common/base/number_list.h"

#include <algorithm>

#include "absl/status/status.h"
#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"

namespace muster {
namespace {

constexpr size_t kMaxItems = 4096;

bool ParseNumber(absl::string_view text, uint32_t highest, uint32_t* number) {
  text = absl::StripAsciiWhitespace(text);
  // SimpleAtoi would also take a sign.
  if (text.empty() || !absl::ascii_isdigit(static_cast<unsigned char>(text.front()))) return false;
  return absl::SimpleAtoi(text, number) && *number <= highest;
}

}  // namespace

bool Contains(const std::vector<NumberRange>& ranges, uint32_t number) {
  return std::any_of(ranges.begin(), ranges.end(),
                     [number](const NumberRange& range) { return range.contains(number); });
}

absl::StatusOr<std::vector<NumberRange>> ParseNumberRanges(const std::string& text, uint32_t highest) {
  std::vector<NumberRange> ranges;
  for (const absl::string_view item : absl::StrSplit(text, ',')) {
    if (ranges.size() >= kMaxItems) {
      return absl::InvalidArgumentError(absl::StrCat("has more than ", kMaxItems, " items"));
    }
    const size_t dash = item.find('-');
    NumberRange range;
    bool is_good = ParseNumber(item.substr(0, dash), highest, &range.low);
    range.high = range.low;
    if (dash != absl::string_view::npos) is_good = is_good && ParseNumber(item.substr(dash + 1), highest, &range.high);
    if (!is_good || range.high < range.low) {
      return absl::InvalidArgumentError(
          absl::StrCat("\"", item, "\" must be a number or a range A-B with A <= B, none above ", highest));
    }
    ranges.push_back(range);
  }
  return ranges;
}

}  // namespace muster
