#include "common/settings/values.h"

#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "common/base/ids.h"
#include "common/base/limits.h"
#include "common/base/text.h"
#include "common/settings/settings.h"

namespace muster {
namespace {

bool IsDecimal(absl::string_view text) {
  if (!text.empty() && text.front() == '-') text.remove_prefix(1);
  return !text.empty() && text.find_first_not_of("0123456789.") == absl::string_view::npos;
}

}  // namespace

absl::StatusOr<int64_t> ParseWholeNumber(const std::string& text, int64_t low, int64_t high) {
  const absl::string_view trimmed = absl::StripAsciiWhitespace(text);
  const bool has_digits_only = !trimmed.empty() && trimmed.front() != '+';  // SimpleAtoi would take a plus sign
  int64_t number = 0;
  if (!has_digits_only || !absl::SimpleAtoi(trimmed, &number) || number < low || number > high) {
    return absl::InvalidArgumentError(absl::StrCat("must be a whole number from ", low, " to ", high));
  }
  return number;
}

absl::StatusOr<bool> ParseBool(const std::string& text) {
  const std::string word = absl::AsciiStrToLower(absl::StripAsciiWhitespace(text));
  if (word == "1" || word == "true" || word == "yes" || word == "on") return true;
  if (word == "0" || word == "false" || word == "no" || word == "off") return false;
  return absl::InvalidArgumentError("must be 1 or 0 (also true or false, yes or no)");
}

absl::StatusOr<absl::Duration> ParseDuration(const std::string& text, absl::Duration low, absl::Duration high,
                                             bool allows_forever) {
  absl::string_view number = absl::StripAsciiWhitespace(text);
  absl::Duration unit = absl::Seconds(1);
  if (absl::ConsumeSuffix(&number, "ms")) {
    unit = absl::Milliseconds(1);
  } else if (absl::ConsumeSuffix(&number, "s")) {
    unit = absl::Seconds(1);
  } else if (absl::ConsumeSuffix(&number, "m")) {
    unit = absl::Minutes(1);
  } else if (absl::ConsumeSuffix(&number, "h")) {
    unit = absl::Hours(1);
  }
  number = absl::StripTrailingAsciiWhitespace(number);
  double value = 0;
  if (IsDecimal(number) && absl::SimpleAtod(number, &value)) {
    if (value < 0 && allows_forever) return absl::InfiniteDuration();
    const absl::Duration duration = unit * value;
    if (duration >= low && duration <= high) return duration;
  }
  return absl::InvalidArgumentError(absl::StrCat("must be a time from ", ShowDuration(low), " to ", ShowDuration(high),
                                                 ", in seconds or with a unit (500ms, 10s, 5m, 2h)",
                                                 allows_forever ? ", or -1 for ever" : ""));
}

absl::Status CheckId(const std::string& text) {
  const std::string rule = absl::StrCat("must be 1 to ", kMaxIdBytes, " letters, digits or . _ : @ -");
  if (text.empty()) return absl::InvalidArgumentError(absl::StrCat(rule, ", and is empty"));
  for (size_t at = 0; at < text.size(); ++at) {
    if (IsIdCharacter(text[at])) continue;
    const bool is_printable = absl::ascii_isprint(text[at]);
    return absl::InvalidArgumentError(absl::StrCat(rule, "; character ", at + 1, " is ",
                                                   is_printable ? Quoted(text.substr(at, 1)) : "none of these"));
  }
  if (text.size() > kMaxIdBytes)
    return absl::InvalidArgumentError(absl::StrCat(rule, "; it is ", text.size(), " bytes long"));
  if (!IsId(text)) return absl::InvalidArgumentError(absl::StrCat("must not be ", text, ", which names a folder"));
  return absl::OkStatus();
}

}  // namespace muster
