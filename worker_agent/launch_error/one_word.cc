// The first word of a command     the hint
//
// has no space                    none
// has words, maybe with quotes    to type it without the quotes around the whole
// has |, ;, $ or similar signs,   to type sh -c '…': without quotes, the shell in which ms-worker is typed would
//   or begins with NAME=VALUE       interpret these signs itself
#include "worker_agent/launch_error/one_word.h"

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "common/base/text.h"

namespace muster::agent {
namespace {

constexpr char kBlanks[] = " \t\n";
constexpr char kShellSigns[] = "|&;<>()$`*?\n";
constexpr size_t kMaxShown = 200;

std::string ShellQuoted(const std::string& word) {
  const bool is_plain = !word.empty() && word.find_first_of(" \t\n'\"\\|&;<>()$`*?#~=[]{}!") == std::string::npos;
  return is_plain ? word : absl::StrCat("'", absl::StrReplaceAll(word, {{"'", "'\\''"}}), "'");
}

bool NeedsShell(const std::string& text) {
  const std::string first = text.substr(0, text.find_first_of(kBlanks));
  return text.find_first_of(kShellSigns) != std::string::npos || first.find('=') != std::string::npos;
}

}  // namespace

std::string OneWordHint(const std::vector<std::string>& command) {
  if (command.empty()) return "";
  const std::string text(absl::StripAsciiWhitespace(command[0]));
  if (text.find_first_of(kBlanks) == std::string::npos) return "";
  std::string typed = NeedsShell(text) ? absl::StrCat("sh -c ", ShellQuoted(text)) : text;
  for (size_t i = 1; i < command.size() && typed.size() <= kMaxShown; ++i) {
    absl::StrAppend(&typed, " ", ShellQuoted(command[i]));
  }
  const bool is_whole = typed.size() <= kMaxShown;
  CutText(typed, kMaxShown);
  return absl::StrCat("; it is one word with spaces: to run a program with arguments, leave the quotes out, as in -- ",
                      EscapeControl(typed), is_whole ? "" : " …");
}

}  // namespace muster::agent
