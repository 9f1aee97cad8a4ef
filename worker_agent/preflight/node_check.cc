// the command                              the node
//
// ends with 0                              takes part; a last line "muster-score=N" is compared with the other nodes'
// ends with another code, or by a signal   does not take part
// exceeds its time limit                   does not take part; the command is killed
// can't be started                         does not take part
// is cut short by a signal to the agent    leaves, as the signal wants
#include "worker_agent/preflight/node_check.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "common/base/text.h"
#include "common/sys/child/bounded_command.h"
#include "common/sys/log.h"

namespace muster::agent {
namespace {

constexpr size_t kMaxOutputBytes = 16 * 1024;
constexpr size_t kMaxLineBytes = 300;
constexpr size_t kMaxLoggedLines = 20;
constexpr absl::string_view kScorePrefix = "muster-score=";

std::string Clean(absl::string_view line) {
  std::string text = EscapeControl(std::string(line));
  CutText(text, kMaxLineBytes);
  return text;
}

// Returns the lines that are not blank, oldest first. A carriage return also ends a line, as of a progress bar.
std::vector<absl::string_view> LinesOf(absl::string_view output) {
  std::vector<absl::string_view> lines;
  for (const absl::string_view line : absl::StrSplit(output, absl::ByAnyChar("\r\n"))) {
    const absl::string_view text = absl::StripAsciiWhitespace(line);
    if (!text.empty()) lines.push_back(text);
  }
  return lines;
}

std::optional<double> ScoreOf(absl::string_view line) {
  double score = 0;
  if (!absl::ConsumePrefix(&line, kScorePrefix) || !absl::SimpleAtod(line, &score)) return std::nullopt;
  if (!std::isfinite(score) || score <= 0) return std::nullopt;
  return score;
}

// Returns how the command failed; empty if it did not.
std::string FailureOf(const CommandResult& result, absl::Duration time_limit) {
  switch (result.end) {
    case CommandResult::End::kExited:
      return result.code == 0 ? "" : absl::StrCat("ended with code ", result.code);
    case CommandResult::End::kSignaled:
      return absl::StrCat("was ended by signal ", result.code);
    case CommandResult::End::kTimedOut:
      return absl::StrCat("did not end within ", absl::ToInt64Seconds(absl::Ceil(time_limit, absl::Seconds(1))),
                          " s (--node_check_timeout)");
    case CommandResult::End::kNotStarted:
      return absl::StrCat("can't be started: ", std::strerror(result.code));
    case CommandResult::End::kCancelled:
      break;
  }
  return "was cut short";
}

}  // namespace

NodeCheck MakeNodeCheck(const std::string& command, const std::map<std::string, std::string>& environment,
                        absl::Duration time_limit) {
  NodeCheck check{command, {}, time_limit};
  for (const auto& [name, value] : environment) check.env.push_back(absl::StrCat(name, "=", value));
  return check;
}

NodeCheckResult RunNodeCheck(const NodeCheck& check, int cancel_fd, const Clock& clock) {
  BoundedCommand command;
  command.argv = {"/bin/sh", "-c", check.command};
  command.env = check.env;
  command.max_output_bytes = kMaxOutputBytes;
  command.deadline = clock.Read().monotonic + check.time_limit;
  command.cancel_fd = cancel_fd;
  command.keeps_end = true;
  command.joins_errors = true;
  CommandResult ended = RunBounded(command, clock);

  NodeCheckResult result;
  result.output = std::move(ended.output);
  if (const std::vector<absl::string_view> lines = LinesOf(result.output); !lines.empty()) {
    result.last_line = Clean(lines.back());
    result.score = ScoreOf(lines.back());
  }
  const std::string failure = FailureOf(ended, check.time_limit);
  if (failure.empty()) return result;
  const std::string said = result.last_line.empty() ? "" : absl::StrCat("; its last line: ", result.last_line);
  result.status = ended.end == CommandResult::End::kCancelled
                      ? absl::CancelledError("the node check was cut short")
                      : absl::FailedPreconditionError(absl::StrCat("the node check (--node_check) ", failure, said));
  return result;
}

void LogNodeCheck(const NodeCheckResult& result, absl::Duration took) {
  if (absl::IsCancelled(result.status)) return;
  if (result.status.ok()) {
    if (!result.score && absl::StartsWith(result.last_line, kScorePrefix)) {
      Log(Severity::kWarning, absl::StrCat("node check: the last line \"", result.last_line,
                                           "\" is no score, so this node is not compared: write a number above 0"));
    }
    Log(Severity::kInfo, absl::StrCat("node check: fit, after ", absl::ToInt64Milliseconds(took), " ms",
                                      result.last_line.empty() ? "" : ": ", result.last_line));
    return;
  }
  const std::vector<absl::string_view> lines = LinesOf(result.output);
  const size_t first = lines.size() - std::min(lines.size(), kMaxLoggedLines);
  for (size_t i = first; i < lines.size(); ++i) {
    Log(Severity::kWarning, absl::StrCat("node check | ", Clean(lines[i])));
  }
}

}  // namespace muster::agent
