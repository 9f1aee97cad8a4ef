#include "common/settings/syntax.h"

#include <csignal>
#include <cstring>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "common/base/limits.h"

namespace muster {
namespace {

constexpr uint32_t kLowestPort = 1024;
constexpr uint32_t kHighestPort = 65535;

// Parses digits only: no sign, no blank.
std::optional<uint32_t> ParseNumber(absl::string_view text, uint32_t highest) {
  uint32_t number = 0;
  const bool has_digits_only = !text.empty() && text.find_first_not_of("0123456789") == absl::string_view::npos;
  if (!has_digits_only || !absl::SimpleAtoi(text, &number) || number > highest) return std::nullopt;
  return number;
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

absl::Status NoCoreBinding() {
  return absl::InvalidArgumentError(
      "must be auto, device, or the CPUs of each local rank, for example \"0:0-3;1:4-7,12\" (rank 0 on CPUs 0 to 3, "
      "rank 1 on "
      "4 to 7 and 12), or as for msrun {\"device0\":[\"0-3\"]}");
}

absl::Status AddCpus(absl::string_view local_rank, const std::string& list, CoreBinding& binding) {
  const auto rank = ParseNumber(absl::StripAsciiWhitespace(local_rank), kMaxSlotsPerNode - 1);
  const auto ranges = ParseNumberRanges(list, kHighestCpu);
  if (!rank || !ranges.ok()) return NoCoreBinding();
  std::set<int> cpus;
  for (const NumberRange& range : *ranges) {
    for (uint32_t cpu = range.low; cpu <= range.high; ++cpu) cpus.insert(static_cast<int>(cpu));
  }
  if (binding.cpus.emplace(*rank, std::vector<int>(cpus.begin(), cpus.end())).second) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat("must name each local rank once; ", *rank, " is there twice"));
}

// Parses 0:0-3;1:4-7,12.
absl::Status AddPairs(const std::string& text, CoreBinding& binding) {
  for (const absl::string_view part : absl::StrSplit(text, ';', absl::SkipWhitespace())) {
    const std::pair<absl::string_view, absl::string_view> sides = absl::StrSplit(part, absl::MaxSplits(':', 1));
    const absl::Status status = AddCpus(sides.first, std::string(sides.second), binding);
    if (!status.ok()) return status;
  }
  return absl::OkStatus();
}

// Parses {"device0":["0-3"],"device1":["4-7","12"]}.
absl::Status AddJson(const std::string& text, CoreBinding& binding) {
  const nlohmann::json json = nlohmann::json::parse(text, nullptr, false);
  if (!json.is_object()) return NoCoreBinding();
  for (const auto& device : json.items()) {
    absl::string_view local_rank = device.key();
    if (!absl::ConsumePrefix(&local_rank, "device") || !device.value().is_array()) return NoCoreBinding();
    std::vector<std::string> list;
    for (const nlohmann::json& range : device.value()) {
      if (!range.is_string()) return NoCoreBinding();
      list.push_back(range.get<std::string>());
    }
    const absl::Status status = AddCpus(local_rank, absl::StrJoin(list, ","), binding);
    if (!status.ok()) return status;
  }
  return absl::OkStatus();
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
  const auto ranges = ParseNumberRanges(text, kHighestPort);
  if (!ranges.ok() || ranges->size() != 1 || ranges->front().low < kLowestPort || !absl::StrContains(text, "-")) {
    return absl::InvalidArgumentError("must be A-B with 1024 ≤ A ≤ B ≤ 65535, for example 20000-20099");
  }
  return ranges->front();
}

absl::StatusOr<std::vector<NumberRange>> ParseTail(const std::string& text) {
  if (text == "none") return std::vector<NumberRange>();
  if (text == "all" || text == "-1") return std::vector<NumberRange>{kAllRanks};
  const auto ranges = ParseNumberRanges(text, kMaxWorkers - 1);
  if (!ranges.ok()) return absl::InvalidArgumentError("must be all, none, or a list of ranks like 0,3-5");
  return *ranges;
}

absl::StatusOr<CoreBinding> ParseCoreBinding(const std::string& text) {
  const std::string trimmed(absl::StripAsciiWhitespace(text));
  const std::string word = absl::AsciiStrToLower(trimmed);
  CoreBinding binding;
  binding.is_auto = word == "auto" || word == "true" || word == "1";
  binding.is_device = word == "device";
  if (binding.is_auto || binding.is_device || word.empty() || word == "false" || word == "0") return binding;
  const absl::Status status = trimmed[0] == '{' ? AddJson(trimmed, binding) : AddPairs(trimmed, binding);
  if (!status.ok()) return status;
  if (binding.cpus.empty()) return NoCoreBinding();
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
