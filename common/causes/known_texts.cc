#include "common/causes/known_texts.h"

#include <algorithm>
#include <array>
#include <string>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "common/base/reason.h"
#include "common/causes/device_codes.h"
#include "common/causes/known_texts_table.h"

namespace muster {
namespace {

constexpr std::array<absl::string_view, 12> kOfOrdinaryLines = {
    "warning",
    "[w ",
    "retrying",
    "will retry",
    "retry(",
    "trying again",
    "falling back",
    "fall back",
    "ignor",
    "skipp",
    "could not load dynamic library",  // TensorFlow
    "reconnecting",
};

// Levels as loggers write them. "info" in small letters is not in the list, because CANN's real error "dump info: pc
// start" contains it.
constexpr std::array<absl::string_view, 6> kLevels = {" INFO ", " INFO:", "[INFO", " DEBUG", "[DEBUG", " [info"};

bool Holds(absl::string_view text, const KnownText& row) {
  return absl::StrContains(text, row.text) && (row.also.empty() || absl::StrContains(text, row.also));
}

bool HoldsCode(absl::string_view text, absl::string_view code) {
  for (size_t at = text.find(code); at != absl::string_view::npos; at = text.find(code, at + 1)) {
    const char after = at + code.size() < text.size() ? text[at + code.size()] : '\0';
    const char before = at > 0 ? text[at - 1] : ' ';
    if ((after == ':' && !absl::ascii_isalnum(static_cast<unsigned char>(before))) || (before == '(' && after == ')')) {
      return true;
    }
  }
  return false;
}

// True for a line that does not report a failure: its level is below "error", or it announces another try. Both texts
// begin with a blank that the caller added.
bool IsOrdinary(absl::string_view line, absl::string_view lower) {
  if (absl::StrContains(lower, "nccl warn")) return false;  // NCCL reports errors with the level WARN
  const auto holds = [](absl::string_view text) {
    return [text](absl::string_view word) { return absl::StrContains(text, word); };
  };
  if (std::any_of(kOfOrdinaryLines.begin(), kOfOrdinaryLines.end(), holds(lower))) return true;
  if (std::any_of(kLevels.begin(), kLevels.end(), holds(line))) return true;
  // A level as one letter: glog's "W0904 19:32:38", PyTorch's "[W904 19:32:38" and "[rank0]:[W1119 15:27:54".
  const size_t rank_end = line.find("]:[");
  const size_t at = line.find_first_not_of("[ ", rank_end == absl::string_view::npos ? 0 : rank_end + 2);
  return at != absl::string_view::npos && at + 1 < line.size() && absl::StrContains("IW", line[at]) &&
         absl::ascii_isdigit(static_cast<unsigned char>(line[at + 1]));
}

}  // namespace

absl::string_view ReasonByText(absl::string_view text, TextPlace place, Evidence least) {
  const std::string lower = absl::AsciiStrToLower(text);
  if (place == TextPlace::kLine && IsOrdinary(absl::StrCat(" ", text), absl::StrCat(" ", lower))) return "";
  if (const absl::string_view by_xid = ReasonByXid(text); !by_xid.empty()) return by_xid;  // no reason weighs more
  absl::string_view found, by_code;
  for (const KnownText& row : KnownTexts()) {
    if (EvidenceOf(row.reason) < least || (row.place == TextPlace::kException && place == TextPlace::kLine) ||
        !Holds(lower, row))
      continue;
    found = row.reason;
    break;
  }
  for (const KnownText& row : KnownCodes()) {
    if (EvidenceOf(row.reason) < least || !HoldsCode(lower, row.text)) continue;
    by_code = row.reason;
    break;
  }
  if (found.empty() || by_code.empty()) return found.empty() ? by_code : found;
  return EvidenceOf(found) > EvidenceOf(by_code) ? found : by_code;
}

absl::string_view ReasonByType(absl::string_view type) {
  const absl::string_view last = type.substr(type.rfind('.') + 1);
  for (const KnownText& row : KnownTypes()) {
    if (last == row.text) return row.reason;
  }
  return "";
}

Evidence EvidenceOf(absl::string_view reason) {
  if (reason == reason::kDeviceFault) return Evidence::kHardware;
  const bool is_of_a_peer = reason == reason::kCollectiveTimeout || reason == reason::kPeerConnectionLost;
  return is_of_a_peer ? Evidence::kConsequence : Evidence::kOwn;
}

}  // namespace muster
