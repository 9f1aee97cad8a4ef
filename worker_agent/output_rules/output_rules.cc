#include "worker_agent/output_rules/output_rules.h"

#include <re2/re2.h>
#include <re2/set.h>

#include <algorithm>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "common/base/text.h"
#include "worker_agent/output_rules/known_formats.h"

namespace muster::agent {
namespace {

constexpr int64_t kMaxMemoryBytes = 1 << 20;  // of one compiled rule; RE2's own limit is eight times that
constexpr int64_t kMaxSetBytes = 8 << 20;     // of all rules together
constexpr int kMaxProgramSize = 500;          // of RE2's instructions: the time for a byte in the worst case
constexpr size_t kMaxNumberBytes = 64;        // of a captured text

RE2::Options Options(int64_t memory) {
  RE2::Options options;
  options.set_log_errors(false);
  options.set_max_mem(memory);
  options.set_encoding(RE2::Options::EncodingLatin1);  // any bytes; those of UTF-8 match as they stand
  return options;
}

absl::Status CheckRule(const std::string& text) {
  if (text.empty() || text.size() > kMaxOutputRuleBytes) {
    return absl::InvalidArgumentError(
        absl::StrCat("must be a regular expression of 1 to ", kMaxOutputRuleBytes, " bytes"));
  }
  const RE2 rule(text, Options(kMaxMemoryBytes));
  if (!rule.ok()) {
    return absl::InvalidArgumentError(
        absl::StrCat("must be a regular expression of RE2 (github.com/google/re2/wiki/Syntax): ", rule.error()));
  }
  if (rule.ProgramSize() > kMaxProgramSize) {
    return absl::InvalidArgumentError(
        "must be simpler: a repetition such as {0,900} takes too much time for each line");
  }
  if (RE2::FullMatch("", rule)) {
    return absl::InvalidArgumentError("must not match an empty line: each line would count");
  }
  return absl::OkStatus();
}

}  // namespace

struct OutputRules::Impl {
  struct Rule {
    std::unique_ptr<const RE2> pattern;  // takes out the number; matches where the set needs too much memory
    const char* format = nullptr;
    bool fails = false;
  };

  Impl() : set(Options(kMaxSetBytes), RE2::UNANCHORED) {}

  void Add(const std::string& text, const char* format, bool fails) {
    set.Add(text, nullptr);
    rules.push_back({std::make_unique<const RE2>(text, Options(kMaxMemoryBytes)), format, fails});
  }

  // Makes `any`, which searches many lines at once: each ^ and $ then means the ends of a line.
  void Join() {
    std::string joined;
    for (const Rule& rule : rules) {
      const std::string& text = rule.pattern->pattern();
      // These could match differently where the text is more than one line.
      if (absl::StrContains(text, "\\A") || absl::StrContains(text, "\\z") || absl::StrContains(text, "(?")) return;
      absl::StrAppend(&joined, joined.empty() ? "" : "|", "(?m:", text, ")");
    }
    RE2::Options options = Options(kMaxSetBytes);
    options.set_never_nl(true);
    options.set_never_capture(true);
    auto made = std::make_unique<const RE2>(joined, options);
    if (made->ok()) any = std::move(made);
  }

  RE2::Set set;  // finds in one pass which rules match: most lines match none
  std::vector<Rule> rules;
  std::unique_ptr<const RE2> any;  // matches where any rule does; null: lines are looked at one by one
};

OutputRules::OutputRules(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
OutputRules::~OutputRules() = default;

bool OutputRules::expects() const {
  return std::any_of(impl_->rules.begin(), impl_->rules.end(), [](const Impl::Rule& rule) { return !rule.fails; });
}

absl::StatusOr<std::shared_ptr<const OutputRules>> OutputRules::Compile(const OutputRuleTexts& texts) {
  if (texts.expect.size() + texts.fail_on.size() > kMaxOutputRules) {
    return absl::InvalidArgumentError(
        absl::StrCat("there are more than ", kMaxOutputRules, " rules of --expect and --fail_on: join some by |"));
  }
  auto impl = std::make_unique<Impl>();
  for (const std::string& text : texts.expect) {
    if (text == kExpectAuto) {
      for (const KnownFormat& format : KnownFormats()) impl->Add(format.pattern, format.name, false);
      continue;
    }
    if (absl::Status status = CheckRule(text); !status.ok()) {
      return absl::InvalidArgumentError(absl::StrCat("--expect '", EscapeControl(text), "' ", status.message()));
    }
    impl->Add(text, nullptr, false);
  }
  for (const std::string& text : texts.fail_on) {
    if (absl::Status status = CheckRule(text); !status.ok()) {
      return absl::InvalidArgumentError(absl::StrCat("--fail_on '", EscapeControl(text), "' ", status.message()));
    }
    impl->Add(text, nullptr, true);
  }
  if (!impl->set.Compile()) {
    return absl::ResourceExhaustedError("the rules of --expect and --fail_on need too much memory: shorten them");
  }
  impl->Join();
  return std::shared_ptr<const OutputRules>(new OutputRules(std::move(impl)));
}

LineFinding OutputRules::Look(std::string_view line) const {
  LineFinding finding;
  std::vector<int> matches;
  RE2::Set::ErrorInfo error{};
  const re2::StringPiece text(line.data(), line.size());
  if (impl_->rules.size() == 1) {
    matches.push_back(0);
  } else if (!impl_->set.Match(text, &matches, &error)) {
    if (error.kind != RE2::Set::kOutOfMemory) return finding;
    // The automaton of all rules grew too large on this line. Each rule by itself is slower, but needs less memory.
    for (size_t i = 0; i < impl_->rules.size(); ++i) {
      if (RE2::PartialMatch(text, *impl_->rules[i].pattern)) matches.push_back(static_cast<int>(i));
    }
  }
  std::sort(matches.begin(), matches.end());
  for (const int index : matches) {
    const Impl::Rule& rule = impl_->rules[static_cast<size_t>(index)];
    if (!rule.fails && finding.is_expected) continue;
    const bool has_number = !rule.fails && rule.pattern->NumberOfCapturingGroups() > 0;
    re2::StringPiece groups[2];
    if (!rule.pattern->Match(text, 0, text.size(), RE2::UNANCHORED, groups, has_number ? 2 : 1)) continue;
    if (rule.fails) {
      finding.is_failure = true;
      continue;
    }
    if (rule.format != nullptr && IsLoadBar(line)) continue;
    finding.is_expected = true;
    finding.format = rule.format;
    if (has_number) finding.number = std::string(groups[1].substr(0, kMaxNumberBytes));
  }
  return finding;
}

std::optional<std::string_view> OutputRules::NextMatch(std::string_view lines, size_t at) const {
  re2::StringPiece found;
  const re2::StringPiece text(lines.data(), lines.size());
  if (impl_->any == nullptr) {
    if (at >= lines.size()) return std::nullopt;
    return lines.substr(at, lines.find('\n', at) - at);
  }
  if (!impl_->any->Match(text, at, lines.size(), RE2::UNANCHORED, &found, 1)) return std::nullopt;
  const auto offset = static_cast<size_t>(found.data() - lines.data());
  const size_t before = offset == 0 ? std::string_view::npos : lines.rfind('\n', offset - 1);
  const size_t begin = std::max(at, before == std::string_view::npos ? 0 : before + 1);
  return lines.substr(begin, lines.find('\n', begin) - begin);
}

absl::Status CheckExpectRule(const std::string& text) {
  return text == kExpectAuto ? absl::OkStatus() : CheckRule(text);
}
absl::Status CheckFailRule(const std::string& text) { return CheckRule(text); }

}  // namespace muster::agent
