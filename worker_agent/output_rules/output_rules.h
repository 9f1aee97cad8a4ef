// The rules of --expect and --fail_on: what a line of a process's output says about the process.
//
// Compiled once, before the keeper is forked; the keeper shares the compiled rules with the agent that checked them.
// Matching takes time in proportion to the line (RE2 has no backtracking) and bounded memory. One thread.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"

namespace muster::agent {

inline constexpr char kExpectAuto[] = "auto";  // --expect auto: the formats of known_formats.h

// The limit for the rules of one agent, and for the bytes of each.
inline constexpr size_t kMaxOutputRules = 32;
inline constexpr size_t kMaxOutputRuleBytes = 1024;

struct OutputRuleTexts {
  std::vector<std::string> expect;   // regular expressions, or kExpectAuto
  std::vector<std::string> fail_on;  // regular expressions

  bool empty() const { return expect.empty() && fail_on.empty(); }
};

// The findings in one line.
struct LineFinding {
  bool is_expected = false;           // a rule of --expect matches
  std::optional<std::string> number;  // the text of that rule's first group; not set: the rule has no group
  const char* format = nullptr;       // the trainer's name, if a rule of kExpectAuto matched
  bool is_failure = false;            // a rule of --fail_on matches
};

class OutputRules {
 public:
  // Error: a rule is no regular expression, is too long, or needs too much memory. The message names the rule.
  static absl::StatusOr<std::shared_ptr<const OutputRules>> Compile(const OutputRuleTexts& texts);
  ~OutputRules();

  // True if there is a rule of --expect.
  bool expects() const;

  // The first rule of --expect that matches counts, in the order in which the rules were given.
  LineFinding Look(std::string_view line) const;

  // Returns the first line of `lines` from `at` on that may match a rule; its end is left out. None: no line matches.
  // Much faster than a call of Look for each line. `lines` has whole lines, which end at '\n', and no '\r'.
  std::optional<std::string_view> NextMatch(std::string_view lines, size_t at) const;

 private:
  struct Impl;
  explicit OutputRules(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

// Checks one rule, for the settings. The error doesn't name the setting or the rule: it begins with "must".
absl::Status CheckExpectRule(const std::string& text);
absl::Status CheckFailRule(const std::string& text);

}  // namespace muster::agent
