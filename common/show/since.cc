#include "common/show/since.h"

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"

namespace muster {

absl::StatusOr<int64_t> ParseSince(const std::string& text, absl::Time now, absl::TimeZone zone) {
  if (text.empty()) return 0;
  absl::Duration ago;
  double days = 0;
  const bool is_in_days = text.back() == 'd' && absl::SimpleAtod(text.substr(0, text.size() - 1), &days);
  if (is_in_days) ago = absl::Hours(24) * days;
  if ((is_in_days || absl::ParseDuration(text, &ago)) && ago >= absl::ZeroDuration() && ago < absl::Hours(24 * 36500)) {
    return absl::ToUnixMillis(now - ago);
  }
  for (const char* form : {"%Y-%m-%d", "%Y-%m-%d %H:%M", "%Y-%m-%dT%H:%M", "%Y-%m-%d %H:%M:%S", "%Y-%m-%dT%H:%M:%S",
                           "%Y-%m-%dT%H:%M:%S%Ez"}) {
    absl::Time time;
    if (absl::ParseTime(form, text, zone, &time, nullptr)) return absl::ToUnixMillis(time);
  }
  return absl::InvalidArgumentError(
      absl::StrCat("'", text, "' is not a time: write how long ago, as in 2h or 3d, or when, as in 2026-11-25T14:30"));
}

}  // namespace muster
