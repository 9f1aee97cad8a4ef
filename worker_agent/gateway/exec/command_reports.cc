// Commands are counted for each round, separately for each kind of refusal and for the commands that ran:
//
//   the first kReportedEach  reported at once
//   the later ones           collected, and reported as one after a pause; each pause is twice as long as the one
//                            before, up to kMaxPause
//   at the round's end       the collected ones are reported
#include "worker_agent/gateway/exec/command_reports.h"

#include <algorithm>
#include <utility>

#include "absl/strings/ascii.h"
#include "common/base/limits.h"
#include "common/base/text.h"

namespace muster::exec {

std::vector<v1::RemoteCommands> CommandReports::Add(v1::RemoteCommands command, MonotonicTime now) {
  Kind& kind = kinds_[command.refusal()];
  command.set_count(1);
  if (kind.reported < kReportedEach) {
    ++kind.reported;
    return {std::move(command)};
  }
  const uint32_t before = kind.waiting.count();
  if (before == 0) kind.due = now + kind.pause;
  kind.waiting = std::move(command);
  kind.waiting.set_count(std::min(before + 1, kMaxCommandsCounted));
  return TakeDue(now);
}

std::vector<v1::RemoteCommands> CommandReports::TakeDue(MonotonicTime now) {
  std::vector<v1::RemoteCommands> due;
  for (auto& [refusal, kind] : kinds_) {
    if (kind.waiting.count() == 0 || now < kind.due) continue;
    kind.pause = std::min(kind.pause * 2, kMaxPause);
    due.push_back(std::exchange(kind.waiting, {}));
  }
  return due;
}

std::vector<v1::RemoteCommands> CommandReports::EndRound() {
  std::vector<v1::RemoteCommands> rest;
  for (auto& [refusal, kind] : kinds_) {
    if (kind.waiting.count() > 0) rest.push_back(std::move(kind.waiting));
  }
  kinds_.clear();
  return rest;
}

// ShownCommand splits a command into words as a POSIX shell does, as far as needed to find where a value ends. It
// shows:
//
//   NAME=value, also if quoted            as NAME=…, without the rest of the word
//   a quoted word that has blanks         as a command again ("bash -c '…'"); as "…" beyond kMaxDepth
//   any other word                        as it is
//   a quote that never ends               as if it ended with the command
namespace {

constexpr int kMaxDepth = 4;
constexpr char kLeftOut[] = "…";
constexpr std::string_view kBetween = " \t\r\n;&|()<>";

bool IsBetween(char c) { return kBetween.find(c) != std::string_view::npos; }
bool IsQuote(char c) { return c == '\'' || c == '"'; }

// Returns the first word of `text`, with its quotes.
std::string_view TakeWord(std::string_view text) {
  char quote = 0;
  for (size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (c == '\\' && quote != '\'') {
      ++i;
    } else if (quote != 0) {
      if (c == quote) quote = 0;
    } else if (IsQuote(c)) {
      quote = c;
    } else if (IsBetween(c)) {
      return text.substr(0, i);
    }
  }
  return text;
}

// Returns the part of "NAME=value" before "="; empty: the word is not of that form.
std::string_view NameIn(std::string_view word) {
  const size_t end = word.find('=');
  if (end == std::string_view::npos || end == 0 || absl::ascii_isdigit(static_cast<unsigned char>(word[0]))) return "";
  for (const char c : word.substr(0, end)) {
    if (!absl::ascii_isalnum(static_cast<unsigned char>(c)) && c != '_') return "";
  }
  return word.substr(0, end);
}

std::string Shown(std::string_view text, int depth);

std::string ShownWord(std::string_view word, int depth) {
  const bool is_quoted = IsQuote(word[0]);
  std::string_view inner = word.substr(is_quoted ? 1 : 0);
  const char quote = word[0];
  if (is_quoted && !inner.empty() && inner.back() == quote) inner.remove_suffix(1);
  if (const std::string_view name = NameIn(inner); !name.empty()) return std::string(name) + "=" + kLeftOut;
  const bool is_command = is_quoted && inner.find_first_of(kBetween) != std::string_view::npos;
  if (!is_command) return std::string(word);
  const std::string shown = depth < kMaxDepth ? Shown(inner, depth + 1) : std::string(kLeftOut);
  return quote + shown + quote;
}

std::string Shown(std::string_view text, int depth) {
  std::string shown;
  while (!text.empty()) {
    if (IsBetween(text[0])) {
      shown += text[0];
      text.remove_prefix(1);
      continue;
    }
    const std::string_view word = TakeWord(text);
    shown += ShownWord(word, depth);
    text.remove_prefix(word.size());
  }
  return shown;
}

}  // namespace

std::string ShownCommand(std::string_view words) {
  std::string shown = EscapeControl(Shown(words, 0));
  CutText(shown, kMaxShownCommandBytes);
  return shown;
}

}  // namespace muster::exec
