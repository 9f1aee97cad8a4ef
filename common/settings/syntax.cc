#include "common/settings/syntax.h"

#include <csignal>
#include <cstring>
#include <optional>
#include <set>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "common/limits.h"

namespace muster {
namespace {

constexpr uint32_t kHighestCpu = 8191;
constexpr uint32_t kLowestPort = 1024;
constexpr uint32_t kHighestPort = 65535;

// Digits only: no sign, no blank.
std::optional<uint32_t> ParseNumber(absl::string_view text, uint32_t highest) {
  uint32_t number = 0;
  const bool has_digits_only = !text.empty() && text.find_first_not_of("0123456789") == absl::string_view::npos;
  if (!has_digits_only || !absl::SimpleAtoi(text, &number) || number > highest) return std::nullopt;
  return number;
}

// "3" or "3-5".
std::optional<NumberRange> ParseRange(absl::string_view text, uint32_t highest) {
  const std::pair<absl::string_view, absl::string_view> ends = absl::StrSplit(text, absl::MaxSplits('-', 1));
  const auto low = ParseNumber(ends.first, highest);
  const auto high = absl::StrContains(text, "-") ? ParseNumber(ends.second, highest) : low;
  if (!low || !high || *low > *high) return std::nullopt;
  return NumberRange{*low, *high};
}

bool EndsProcesses(int signal) {
  for (const int other : {SIGSTOP, SIGTSTP, SIGTTIN, SIGTTOU, SIGCONT, SIGCHLD, SIGURG, SIGWINCH}) {
    if (signal == other) return false;
  }
  return true;
}

bool IsWord(absl::string_view text, absl::string_view extra) {
  if (text.empty()) return false;
  for (const char c : text) {
    if (!absl::ascii_isalnum(c) && extra.find(c) == absl::string_view::npos) return false;
  }
  return true;
}

}  // namespace

absl::StatusOr<int> ParseSignal(const std::string& text) {
  int signal = 0;
  if (const auto number = ParseNumber(text, SIGRTMAX)) {
    signal = static_cast<int>(*number);
  } else {
    const std::string upper = absl::AsciiStrToUpper(text);
    const absl::string_view name = absl::StripPrefix(upper, "SIG");
    for (int candidate = 1; candidate < SIGRTMIN; ++candidate) {
      const char* known = sigabbrev_np(candidate);
      if (known != nullptr && name == known) signal = candidate;
    }
  }
  if (signal == 0 || !EndsProcesses(signal)) {
    return absl::InvalidArgumentError(
        "must be the name or number of a signal that ends processes (TERM, SIGTERM, 15, INT, …)");
  }
  return signal;
}

absl::StatusOr<NumberRange> ParsePortRange(const std::string& text) {
  const auto range = ParseRange(text, kHighestPort);
  if (!range || range->low < kLowestPort || !absl::StrContains(text, "-")) {
    return absl::InvalidArgumentError("must be A-B with 1024 ≤ A ≤ B ≤ 65535, for example 20000-20099");
  }
  return *range;
}

absl::StatusOr<std::vector<NumberRange>> ParseNumberList(const std::string& text, uint32_t highest) {
  std::vector<NumberRange> ranges;
  for (const absl::string_view part : absl::StrSplit(text, ',')) {
    const auto range = ParseRange(absl::StripAsciiWhitespace(part), highest);
    if (!range) {
      return absl::InvalidArgumentError(
          absl::StrCat("must be a list of numbers and ranges up to ", highest, ", for example 0,3-5"));
    }
    ranges.push_back(*range);
  }
  return ranges;
}

absl::StatusOr<Tail> ParseTail(const std::string& text) {
  if (text == "none" || text.empty()) return Tail{Tail::Kind::kNone, {}};
  if (text == "all" || text == "-1") return Tail{Tail::Kind::kAll, {}};
  const auto ranges = ParseNumberList(text, kMaxWorkers - 1);
  if (!ranges.ok()) return absl::InvalidArgumentError("must be all, none, or a list of ranks like 0,3-5");
  return Tail{Tail::Kind::kListed, *ranges};
}

absl::StatusOr<CoreBinding> ParseCoreBinding(const std::string& text) {
  const absl::Status bad = absl::InvalidArgumentError(
      "must be auto, or the CPUs of each local slot, for example \"0:0-3;1:4-7,12\" (slot 0 on CPUs 0 to 3, slot 1 on "
      "4 to "
      "7 and 12)");
  const std::string word = absl::AsciiStrToLower(text);
  CoreBinding binding;
  if (word.empty() || word == "false") return binding;
  if (word == "auto" || word == "true") {
    binding.is_auto = true;
    return binding;
  }
  for (const absl::string_view part : absl::StrSplit(text, ';', absl::SkipWhitespace())) {
    const std::pair<absl::string_view, absl::string_view> sides = absl::StrSplit(part, absl::MaxSplits(':', 1));
    const auto slot = ParseNumber(absl::StripAsciiWhitespace(sides.first), kMaxSlotsPerNode - 1);
    const auto ranges = ParseNumberList(std::string(sides.second), kHighestCpu);
    if (!slot || !ranges.ok()) return bad;
    std::set<int> cpus;
    for (const NumberRange& range : *ranges) {
      for (uint32_t cpu = range.low; cpu <= range.high; ++cpu) cpus.insert(static_cast<int>(cpu));
    }
    const bool is_new = binding.cpus.emplace(*slot, std::vector<int>(cpus.begin(), cpus.end())).second;
    if (!is_new)
      return absl::InvalidArgumentError(
          absl::StrCat("must name each local slot once; slot ", *slot, " is there twice"));
  }
  if (binding.cpus.empty()) return bad;
  return binding;
}

absl::StatusOr<std::pair<std::string, std::string>> ParseVariable(const std::string& text) {
  const size_t equals = text.find('=');
  const std::string name = text.substr(0, equals);
  if (equals == std::string::npos || !IsWord(name, "_") || absl::ascii_isdigit(name[0])) {
    return absl::InvalidArgumentError("must be NAME=VALUE, with letters, digits and _ in NAME");
  }
  return std::make_pair(name, text.substr(equals + 1));
}

absl::StatusOr<std::vector<std::pair<std::string, std::string>>> ParseLabels(const std::string& text) {
  std::vector<std::pair<std::string, std::string>> labels;
  for (const absl::string_view part : absl::StrSplit(text, ',')) {
    const std::pair<std::string, std::string> label = absl::StrSplit(part, absl::MaxSplits('=', 1));
    if (!IsWord(label.first, "._-") || !IsWord(label.second, "._-")) {
      return absl::InvalidArgumentError(
          "must be KEY=VALUE, with letters, digits and . _ - in both, for example rack=r12 (several: "
          "rack=r12,switch=s3)");
    }
    labels.push_back(label);
  }
  return labels;
}

}  // namespace muster
