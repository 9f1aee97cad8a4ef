// The quoted line is the exception, if there is one. The exception comes from the error file, or from the agent, which
// also searches output that is older than the last lines. If both have an exception, the one that says more about the
// cause counts (common/causes).
//
// Without an exception, the quoted line is the one of the kNewestLines newest lines that says most about the cause; of
// equal ones, the newest. A line about a fault of the hardware may be older.
//
// The reason comes from the exception's text, else from its type, else it is python_exception. The exception may be a
// mere consequence of another process's end, or may come from a launcher. The lines then count instead, if they say
// more.
#include "scheduler/core/facts/last_words.h"

#include <algorithm>
#include <array>
#include <optional>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "common/base/reason.h"
#include "common/base/text.h"
#include "common/causes/exceptions.h"
#include "common/causes/known_texts.h"

namespace muster::scheduler {
namespace {

// Texts that report a killed child: of multiprocessing, PyTorch's data loaders, concurrent.futures, subprocess, shells.
constexpr std::array<absl::string_view, 8> kKilledChild = {
    "is killed by signal: killed",    "exited unexpectedly", "was terminated abruptly",
    "<signals.sigkill: 9>",           "exit code -9",        "(sigkill) received",
    "terminated with signal sigkill", "{sigkill(-9)"};

constexpr size_t kNewestLines = 8;
constexpr size_t kMaxPlaceBytes = 100;

std::string Quote(absl::string_view line) {
  std::string quote(absl::StripAsciiWhitespace(line));
  CutText(quote, kMaxQuoteBytes);
  return quote;
}

bool MentionsKilled(absl::string_view text) {
  const std::string lower = absl::AsciiStrToLower(text);
  for (const absl::string_view killed : kKilledChild) {
    if (absl::StrContains(lower, killed)) return true;
  }
  return false;
}

RaisedException FromMessage(const v1::RaisedException& message) {
  return {message.type(), message.message(), message.file(), message.line(), message.is_native()};
}

// Returns " (train.py:7)", or nothing if the last lines already show the exception. If the path is long, keeps its end,
// which says more.
std::string PlaceOf(const RaisedException& exception, const std::vector<absl::string_view>& lines) {
  if (exception.file.empty()) return "";
  const std::string first = exception.FirstLine();
  const absl::string_view begin = absl::string_view(first).substr(0, kMaxQuoteBytes);
  for (const absl::string_view line : lines) {
    if (absl::StrContains(line, begin)) return "";
  }
  absl::string_view file = exception.file;
  const bool is_long = file.size() > kMaxPlaceBytes;
  if (is_long) {
    file.remove_prefix(file.size() - kMaxPlaceBytes);
    file.remove_prefix(std::min(file.find('/'), file.size()));
  }
  return absl::StrCat(" (", is_long ? "…" : "", file, ":", exception.line, ")");
}

// Returns the reason and the quote that the lines give without an exception.
LastWords WordsOf(const std::vector<absl::string_view>& lines) {
  LastWords words;
  for (size_t back = 1; back <= lines.size(); ++back) {
    const absl::string_view line = lines[lines.size() - back];
    const absl::string_view reason = ReasonByText(line, TextPlace::kLine);
    if (reason.empty()) continue;
    const bool is_new = back <= kNewestLines || EvidenceOf(reason) == Evidence::kHardware;
    if (!is_new || (!words.reason.empty() && EvidenceOf(reason) <= EvidenceOf(words.reason))) continue;
    words.reason = reason;
    words.quote = Quote(line);
  }
  return words;
}

// Returns the exception that says more about the cause: the error file's, or the output's.
std::optional<RaisedException> ChooseException(const v1::ProcessEnded& ended) {
  std::optional<RaisedException> found;
  if (ended.has_exception()) found = FromMessage(ended.exception());
  if (ended.error_message().empty()) return found;
  RaisedException of_file = ExceptionOfText(ended.error_message());
  if (!found || IsOfLauncher(*found)) return of_file;
  if (IsOfLauncher(of_file)) return found;
  return EvidenceOf(ReasonOf(*found)) > EvidenceOf(ReasonOf(of_file)) ? found : of_file;
}

}  // namespace

LastWords ReadLastWords(const v1::ProcessEnded& ended) {
  const std::vector<absl::string_view> lines(ended.last_lines().begin(), ended.last_lines().end());
  LastWords words = WordsOf(lines);
  if (const std::optional<RaisedException> exception = ChooseException(ended)) {
    const absl::string_view reason = ReasonOf(*exception);
    const bool is_launchers = reason.empty() && IsOfLauncher(*exception);
    const bool is_consequence = !reason.empty() && EvidenceOf(reason) == Evidence::kConsequence;
    const bool lines_are_stronger = !words.reason.empty() && EvidenceOf(words.reason) > Evidence::kConsequence;
    // The lines count more than a launcher's exception, which does not name the cause, or than a mere consequence.
    if (!(is_launchers && !words.reason.empty()) && !(is_consequence && lines_are_stronger)) {
      words.reason = reason;
      words.quote = absl::StrCat(Quote(absl::StripSuffix(exception->FirstLine(), ":")), PlaceOf(*exception, lines));
      // A program that is not in Python may write an error file, too.
      const bool is_python =
          !exception->is_native &&
          (ended.error_message().empty() ? !exception->type.empty() : LooksLikeException(exception->type));
      if (words.reason.empty() && is_python) words.reason = reason::kPythonException;
    }
  }
  words.mentions_killed = MentionsKilled(ended.error_message()) || MentionsKilled(ended.exception().message());
  for (const absl::string_view line : lines) words.mentions_killed |= MentionsKilled(line);
  return words;
}

}  // namespace muster::scheduler
