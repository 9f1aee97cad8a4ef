#include "common/show/words.h"

#include <algorithm>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "common/causes/outcome.h"

namespace muster {
namespace {

// Returns the name of a protobuf enum's value in lower case, without `prefix`.
std::string EnumWord(std::string name, const std::string& prefix) {
  if (name.rfind(prefix, 0) == 0) name = name.substr(prefix.size());
  if (name.empty() || name == "UNSPECIFIED") return "unknown";
  std::transform(name.begin(), name.end(), name.begin(),
                 [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; });
  return name;
}

size_t EditDistance(const std::string& a, const std::string& b) {
  std::vector<size_t> row(b.size() + 1);
  for (size_t j = 0; j <= b.size(); ++j) row[j] = j;
  for (size_t i = 1; i <= a.size(); ++i) {
    size_t diagonal = row[0];
    row[0] = i;
    for (size_t j = 1; j <= b.size(); ++j) {
      const size_t replaced = diagonal + (a[i - 1] == b[j - 1] ? 0 : 1);
      diagonal = row[j];
      row[j] = std::min({row[j] + 1, row[j - 1] + 1, replaced});
    }
  }
  return row[b.size()];
}

}  // namespace

std::string ShortAge(absl::Duration age) {
  if (age < absl::ZeroDuration()) age = absl::ZeroDuration();
  const int64_t ms = absl::ToInt64Milliseconds(age);
  if (ms == 0) return "0 s";
  if (ms < 1000) return absl::StrFormat("%.1f s", static_cast<double>(std::max<int64_t>(ms / 100, 1)) / 10);
  const int64_t s = ms / 1000;
  if (s < 60) return absl::StrCat(s, " s");
  if (s < 3600) return absl::StrCat(s / 60, " min");
  if (s < 86400) return absl::StrCat(s / 3600, " h");
  return absl::StrCat(s / 86400, " d");
}

std::string FormatTimeLeft(int64_t milliseconds) {
  if (milliseconds < 0) return "no limit";
  const int64_t s = milliseconds / 1000;
  if (s < 60) return absl::StrCat(s, " s");
  if (s < 3600) return absl::StrCat(s / 60, " min ", s % 60, " s");
  return absl::StrCat(s / 3600, " h ", s % 3600 / 60, " min");
}

std::string CompressRanks(std::vector<uint32_t> ranks) {
  std::sort(ranks.begin(), ranks.end());
  ranks.erase(std::unique(ranks.begin(), ranks.end()), ranks.end());
  std::string out;
  for (size_t i = 0; i < ranks.size();) {
    size_t last = i;
    while (last + 1 < ranks.size() && ranks[last + 1] == ranks[last] + 1) ++last;
    absl::StrAppend(&out, out.empty() ? "" : ",", ranks[i]);
    if (last > i) absl::StrAppend(&out, "-", ranks[last]);
    i = last + 1;
  }
  return out;
}

std::string PhaseWord(v1::RunPhase phase) { return EnumWord(v1::RunPhase_Name(phase), "RUN_PHASE_"); }

std::string PhaseWord(const v1::RunStatus& run) {
  return run.has_outcome() && WasStopped(run.outcome()) ? "stopped" : PhaseWord(run.phase());
}

std::string RoleWord(v1::Role role) { return EnumWord(v1::Role_Name(role), "ROLE_"); }

std::string CauseWord(v1::Cause::Kind kind) { return EnumWord(v1::Cause::Kind_Name(kind), "KIND_"); }

bool HasEnded(v1::RunPhase phase) { return phase == v1::RUN_PHASE_SUCCEEDED || phase == v1::RUN_PHASE_FAILED; }

std::string FormatWallTime(int64_t unix_ms, absl::TimeZone zone) {
  if (unix_ms == 0) return "";
  return absl::FormatTime("%Y-%m-%d %H:%M:%S", absl::FromUnixMillis(unix_ms), zone);
}

std::string ZoneName(absl::TimeZone zone, absl::Time when) {
  const std::string offset = absl::FormatTime("UTC%Ez", when, zone);
  std::string name = zone.name();
  if (absl::StrContains(name, "localtime") || name.empty() || name[0] == '/' || name[0] == ':') {
    name = absl::FormatTime("%Z", when, zone);
  }
  const bool says_more = !name.empty() && absl::ascii_isalpha(name[0]) && !absl::StartsWith(name, "Fixed/");
  if (name == "UTC") return name;
  return says_more ? absl::StrCat(name, ", ", offset) : offset;
}

std::string NearMiss(const std::string& word, const std::vector<std::string>& known) {
  if (word.empty()) return "";
  std::vector<std::string> completions;
  std::pair<size_t, std::string> best = {3, ""};
  for (const std::string& candidate : known) {
    if (candidate.rfind(word, 0) == 0) completions.push_back(candidate);
    const size_t distance = EditDistance(word, candidate);
    if (distance < best.first && distance * 2 <= candidate.size()) best = {distance, candidate};
  }
  if (completions.size() == 1) return completions[0];
  return best.second;
}

}  // namespace muster
