// A layer of the command               what comes of it
//
//   env …, uv run …, nice …            the runner; then the program after it
//   bash -c TEXT                       the shell; its first command as the command's own, the others as a script's
//   eval WORDS                         the commands that the words are
//   bash FILE, ./FILE with #!…sh       the shell; then each command of the file
//   exec PROGRAM in a script           marked, for what stands before has ended by then
//   $NAME, ${NAME} with NAME=x above   x; without quotes it is split into words
//   anything else                      the program, the last layer
#include "common/command/started.h"

#include <algorithm>
#include <map>
#include <optional>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "common/command/python_target.h"
#include "common/command/runners.h"
#include "common/sys/file_io.h"

namespace muster {
namespace {

using Words = std::vector<std::string>;
using Variables = std::map<std::string, std::string>;

constexpr size_t kMostScriptBytes = size_t{64} << 10;
constexpr size_t kMostScripts = 8;
constexpr size_t kMostPrograms = 1024;
constexpr int kMostLayers = 12;
constexpr size_t kMostWordBytes = 4096;                 // of one that variables are filled into
constexpr size_t kMostFilledBytes = size_t{128} << 10;  // of all words of a script that variables are filled into

struct Origin {
  std::string script = {};
  uint32_t line = 0;
  bool is_exec = false;
  bool has_input = false;
};

class Finder {
 public:
  void Look(Words words, Origin origin, int depth) {
    for (; depth < kMostLayers && !words.empty() && found_.size() < kMostPrograms; ++depth) {
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
        for (ShellCommand& each : ScriptCommands(script.text, script.arguments)) {
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
    if (text.size() > kMostScriptBytes) return;
    Words arguments;
    if (text_at != 0 && text_at + 2 < words.size()) {  // the word after the text is $0
      arguments.assign(words.begin() + static_cast<std::ptrdiff_t>(text_at) + 2, words.end());
    }
    bool is_first = true;
    for (ShellCommand& each : ScriptCommands(text, arguments)) {
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
    if (scripts_ == kMostScripts) return {};
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

bool IsNameLetter(char c) { return c == '_' || absl::ascii_isalnum(static_cast<unsigned char>(c)); }

// The name of $NAME, ${NAME}, ${NAME[@]} at `at`, and how many bytes that is; 0: there is none.
std::pair<std::string, size_t> NameAt(const std::string& word, size_t at) {
  const bool has_brace = word.compare(at, 2, "${") == 0;
  const size_t begin = at + (has_brace ? 2 : 1);
  size_t end = begin;
  while (end < word.size() && IsNameLetter(word[end])) ++end;
  const std::string name = word.substr(begin, end - begin);
  if (name.empty() || absl::ascii_isdigit(static_cast<unsigned char>(name[0]))) return {};
  if (!has_brace) return {name, end - at};
  for (const std::string& rest : {std::string("}"), std::string("[@]}"), std::string("[*]}")}) {
    if (word.compare(end, rest.size(), rest) == 0) return {name, end + rest.size() - at};
  }
  return {};
}

std::string FilledIn(const std::string& word, const Variables& variables) {
  std::string out;
  for (size_t at = 0; at < word.size() && out.size() < kMostWordBytes;) {
    if (word[at] == '$') {
      const auto [name, size] = NameAt(word, at);
      const auto found = size == 0 ? variables.end() : variables.find(name);
      if (found != variables.end()) {
        out += found->second;
        at += size;
        continue;
      }
    }
    out += word[at++];
  }
  return out;
}

bool NamesArguments(const std::string& typed) {
  return typed == "\"$@\"" || typed == "$@" || typed == "$*" || typed == "\"${@}\"" || typed == "${@}";
}

// A value that the script computes is not known; what was known of the name before is out of date.
void Note(const Words& assignments, Variables& variables) {
  for (const std::string& assignment : assignments) {
    const size_t equals = assignment.find('=');
    if (equals == std::string::npos || !IsAssignment(assignment) || assignment[equals - 1] == '+') continue;
    const std::string name = assignment.substr(0, equals);
    const std::string value = FilledIn(assignment.substr(equals + 1), variables);
    const bool is_computed = absl::StrContains(value, "$(") || absl::StrContains(value, "`");
    const bool is_from_outside = absl::StrContains(value, "${") || absl::StrContains(value, "$1");
    if (is_computed || is_from_outside || value.size() > kMostWordBytes) {
      variables.erase(name);
    } else {
      variables[name] = value;
    }
  }
}

// `room`: how many bytes may still be filled in.
void FillIn(ShellCommand& command, const Variables& variables, const Words& arguments, size_t& room) {
  Words words, typed;
  const auto add = [&](std::string word, std::string as_typed) {
    words.push_back(std::move(word));
    typed.push_back(std::move(as_typed));
  };
  const auto take = [&](size_t bytes) {
    const bool fits = bytes <= room;
    room -= fits ? bytes : 0;
    return fits;
  };
  size_t argument_bytes = 0;
  for (const std::string& argument : arguments) argument_bytes += argument.size() + 1;
  for (size_t i = 0; i < command.words.size(); ++i) {
    const std::string& word = command.words[i];
    const std::string& as_typed = command.typed[i];
    if (!arguments.empty() && NamesArguments(as_typed) && take(argument_bytes)) {
      for (const std::string& argument : arguments) add(argument, ShellWord(argument));
      continue;
    }
    const bool is_literal = absl::StartsWith(as_typed, "'") || !absl::StrContains(word, "$");
    const std::string filled = is_literal || room == 0 ? word : FilledIn(word, variables);
    if (filled == word || !take(filled.size())) {
      add(word, as_typed);
    } else if (as_typed == word && word[0] == '$') {  // not quoted: the value is split
      for (const ShellCommand& part : ShellCommands(filled)) {
        for (const std::string& assignment : part.assignments) add(assignment, ShellWord(assignment));
        for (size_t k = 0; k < part.words.size(); ++k) add(part.words[k], part.typed[k]);
      }
    } else {
      add(filled, absl::StrContains(filled, "$") ? "\"" + filled + "\"" : ShellWord(filled));
    }
  }
  command.words = std::move(words);
  command.typed = std::move(typed);
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
  if (!is_shell && !absl::StrContains(words[0], "/")) return {};  // of PATH: no script of the user's
  const absl::StatusOr<std::string> text = ReadSmallFile(words[at], kMostScriptBytes);
  if (!text.ok() || absl::StrContains(*text, absl::string_view("\0", 1))) return {};
  const std::string first_line = text->substr(0, text->find('\n'));
  const bool is_others = absl::StartsWith(first_line, "#!") && !NamesShell(first_line);
  if (is_others || (!is_shell && !NamesShell(first_line))) return {};
  return {words[at], *text, {words.begin() + static_cast<std::ptrdiff_t>(at) + 1, words.end()}};
}

std::vector<ShellCommand> ScriptCommands(std::string_view text, const Words& arguments) {
  std::vector<ShellCommand> commands = ShellCommands(text);
  Variables variables;
  size_t room = kMostFilledBytes;
  for (ShellCommand& command : commands) {
    FillIn(command, variables, arguments, room);
    const bool is_declaration =
        !command.words.empty() && (command.words[0] == "export" || command.words[0] == "declare" ||
                                   command.words[0] == "local" || command.words[0] == "readonly");
    if (command.words.empty()) Note(command.assignments, variables);
    if (is_declaration) Note(command.words, variables);
  }
  return commands;
}

}  // namespace muster
