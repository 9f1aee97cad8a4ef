#include <algorithm>
#include <cmath>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "common/settings/settings.h"

namespace muster {
namespace {

// Returns the number with up to three decimals, without trailing zeros.
std::string Number(double value) {
  std::string text = absl::StrFormat("%.3f", value);
  text.erase(text.find_last_not_of('0') + 1);
  if (text.back() == '.') text.pop_back();
  return text;
}

}  // namespace

std::string ShowDuration(absl::Duration duration) {
  if (duration == absl::InfiniteDuration() || duration == -absl::InfiniteDuration()) return "for ever";
  const double seconds = absl::ToDoubleSeconds(duration);
  if (seconds != 0 && std::abs(seconds) < 1) return absl::StrCat(Number(seconds * 1000), " ms");
  return absl::StrCat(Number(seconds), " s");
}

std::string ShowTimeouts(const std::vector<TimeoutStep>& steps) {
  size_t name_width = 0;
  size_t value_width = 0;
  for (const TimeoutStep& step : steps) {
    name_width = std::max(name_width, step.name.size());
    value_width = std::max(value_width, ShowDuration(step.value).size());
  }
  std::string out = "Timeouts:\n";
  for (const TimeoutStep& step : steps) {
    absl::StrAppendFormat(&out, "  %-*s  %*s  %s\n", static_cast<int>(name_width), step.name,
                          static_cast<int>(value_width), ShowDuration(step.value), step.meaning);
  }
  return out;
}

}  // namespace muster
