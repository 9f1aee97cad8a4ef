// A command or script line             what is found in it
//
//   env …, uv run …, nice …            the runner, then the program that it starts
//   bash -c TEXT                       the shell; TEXT's first command as the command's own, the others as a script's
//   eval WORDS                         the commands in WORDS
//   bash FILE, ./FILE with #!…sh       the shell, then each command of the file
//   exec PROGRAM in a script           the program, marked with is_exec because it replaces the shell
//   $NAME, ${NAME} with NAME=x above   x in its place (script_values.h)
//   anything else                      the program: it is the last one (is_last)
#include "common/command/started.h"

#include <algorithm>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "common/command/python_target.h"
#include "common/command/runners.h"
#include "common/command/script_values.h"
#include "common/sys/file_io.h"

namespace muster {
namespace {

using Words = std::vector<std::string>;

constexpr size_t kMaxScriptBytes = size_t{64} << 10;
constexpr size_t kMaxScripts = 8;
constexpr size_t kMaxPrograms = 1024;
constexpr int kMaxLayers = 12;

struct Origin {
  std::string script = {};
  uint32_t line = 0;
  bool is_exec = false;
  bool has_input = false;
};

class Finder {
 public:
  void Look(Words words, Origin origin, int depth) {
    for (; depth < kMaxLayers && !words.empty() && found_.size() < kMaxPrograms; ++depth) {
      words = WithoutSplitString(std::move(words));
      const std::string name = BaseName(words[0]);
      const RunProgram program = ProgramOfRunner(words);
      if (name == "exec" && !program.words.empty() && !origin.script.empty()) origin.is_exec = true;
      const bool is_eval = name == "eval" && words.size() > 1;
      ShellScript script;
      if (program.words.empty() && program.text_at == 0 && !is_eval) script = Read(words);
      const bool is_last = program.words.empty() && program.text_at == 0 && !is_eval && script.file.empty();
      Add(words, is_last, origin);
      if (is_last) return;
      if (!program.words.empty()) {
        words = program.words;
        continue;
      }
      if (!script.file.empty()) {
        for (ShellCommand& each : CommandsWithLikelyValues(script.text, script.arguments)) {
          Look(std::move(each.words), {script.file, each.line, origin.is_exec, each.has_input}, depth + 1);
        }
        return;
      }
      const std::string text = is_eval ? absl::StrJoin(words.begin() + 1, words.end(), " ") : words[program.text_at];
      LookIntoText(text, words, program.text_at, origin, depth + 1);
      return;
    }
  }

  std::vector<StartedProgram> Found() { return std::move(found_); }

 private:
  void LookIntoText(const std::string& text, const Words& words, size_t text_at, const Origin& origin, int depth) {
    if (text.size() > kMaxScriptBytes) return;
    Words arguments;
    if (text_at != 0 && text_at + 2 < words.size()) {  // the word after the text is $0
      arguments.assign(words.begin() + static_cast<std::ptrdiff_t>(text_at) + 2, words.end());
    }
    bool is_first = true;
    for (ShellCommand& each : CommandsWithLikelyValues(text, arguments)) {
      if (each.words.empty()) continue;
      Origin of_text = origin;
      of_text.has_input |= each.has_input;
      if (!is_first && origin.script.empty()) {
        of_text.script = BaseName(words[0]) + " -c";
        of_text.line = each.line;
      }
      is_first = false;
      Look(std::move(each.words), of_text, depth);
    }
  }

  ShellScript Read(const Words& words) {
    if (scripts_ == kMaxScripts) return {};
    ShellScript script = ReadShellScript(words);
    if (!script.file.empty()) ++scripts_;
    return script;
  }

  void Add(const Words& words, bool is_last, const Origin& origin) {
    found_.push_back({words, is_last, origin.script, origin.line, origin.is_exec, origin.has_input});
  }

  size_t scripts_ = 0;
  std::vector<StartedProgram> found_;
};

bool NamesShell(const std::string& first_line) {
  if (!absl::StartsWith(first_line, "#!")) return false;
  const Words words = absl::StrSplit(first_line.substr(2), absl::ByAnyChar(" \t\r"), absl::SkipEmpty());
  return std::any_of(words.begin(), words.end(), [](const std::string& word) { return IsShell(BaseName(word)); });
}

}  // namespace

std::vector<StartedProgram> ProgramsOf(const std::vector<std::string>& command) {
  Finder finder;
  finder.Look(command, {}, 0);
  return finder.Found();
}

bool IsOnlyAsked(const Words& words) {
  return words.size() > 1 && (words[1] == "--help" || words[1] == "-h" || words[1] == "--version" || words[1] == "-V");
}

ShellScript ReadShellScript(const Words& words) {
  if (words.empty()) return {};
  const bool is_shell = IsShell(BaseName(words[0]));
  const size_t at = is_shell ? FileOfShell(words) : 0;
  if (is_shell && at == 0) return {};
  if (!is_shell && !absl::StrContains(words[0], "/")) return {};  // found through PATH: not a script of the user's
  const absl::StatusOr<std::string> text = ReadSmallFile(words[at], kMaxScriptBytes);
  if (!text.ok() || absl::StrContains(*text, absl::string_view("\0", 1))) return {};
  const std::string first_line = text->substr(0, text->find('\n'));
  const bool is_others = absl::StartsWith(first_line, "#!") && !NamesShell(first_line);
  if (is_others || (!is_shell && !NamesShell(first_line))) return {};
  return {words[at], *text, {words.begin() + static_cast<std::ptrdiff_t>(at) + 1, words.end()}};
}

}  // namespace muster
