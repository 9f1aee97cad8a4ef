// A line of the script                       counts as an import of the module m
//
//   import m, import m.x as y, from m import z    yes
//   the same, indented, in a function             yes
//   the same under `if __name__ == …`             yes
//   the same under try, any other if, else        no
//   anything else                                 no
#include "worker_agent/launch/command/python_module.h"

#include <algorithm>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "common/command/python_target.h"
#include "common/sys/file_io.h"
#include "worker_agent/launch/command/launchers.h"

namespace muster::agent {
namespace {

constexpr size_t kMaxModuleBytes = size_t{1} << 20;

bool IsOf(absl::string_view name, const std::string& module) {
  return name == module || absl::StartsWith(name, absl::StrCat(module, "."));
}

bool IsImport(absl::string_view line, const std::string& module) {
  const std::vector<absl::string_view> words = absl::StrSplit(line, absl::ByAnyChar(" \t,;\r"), absl::SkipEmpty());
  if (words.size() < 2) return false;
  if (words[0] == "from") return IsOf(words[1], module);
  return words[0] == "import" &&
         std::any_of(words.begin() + 1, words.end(), [&](absl::string_view name) { return IsOf(name, module); });
}

// True if every run of the script imports the module. An import under `try` or `if` may be optional, so it doesn't
// count.
bool Imports(const std::string& script, const std::string& module) {
  bool is_sure = true;  // an indented line at this place is not under a condition
  for (const absl::string_view line : absl::StrSplit(script, '\n')) {
    const absl::string_view bare = absl::StripLeadingAsciiWhitespace(line);
    const absl::string_view first = bare.substr(0, bare.find_first_of(" \t:(\r"));
    if (first.empty() || first[0] == '#') continue;
    const bool is_indented = bare.size() < line.size();
    if ((!is_indented || is_sure) && IsImport(bare, module)) return true;
    const bool is_condition =
        first == "try" || first == "except" || first == "if" || first == "elif" || first == "else";
    if (is_condition) {
      is_sure = absl::StartsWith(bare, "if __name__ ");
    } else if (!is_indented || first == "def") {
      is_sure = true;
    }
  }
  return false;
}

// Returns the text of the command's .py file. Empty: there is no such file, or it can't be read.
std::string ScriptOf(const std::vector<std::string>& command) {
  const auto script =
      std::find_if(command.begin(), command.end(), [](const std::string& word) { return absl::EndsWith(word, ".py"); });
  if (script == command.end()) return "";
  return ReadSmallFile(*script, kMaxModuleBytes).value_or("");
}

}  // namespace

bool RunsPython(const std::vector<std::string>& command) {
  return IsPython(BaseName(command[0])) || absl::EndsWith(command[0], ".py");
}

bool NamesPythonModule(const std::vector<std::string>& command, const std::string& module) {
  if (std::any_of(command.begin() + 1, command.end(), [&](const std::string& word) { return IsOf(word, module); })) {
    return true;
  }
  return Imports(ScriptOf(command), module);
}

bool UsesPythonModule(const std::vector<std::string>& command, const std::string& module) {
  const std::vector<std::vector<std::string>> programs = TrainingPrograms(command);
  return std::any_of(programs.begin(), programs.end(), [&](const std::vector<std::string>& program) {
    return RunsPython(program) && NamesPythonModule(program, module);
  });
}

bool ScriptContains(const std::vector<std::string>& command, const std::string& text) {
  const std::vector<std::vector<std::string>> programs = TrainingPrograms(command);
  return std::any_of(programs.begin(), programs.end(), [&](const std::vector<std::string>& program) {
    return absl::StrContains(ScriptOf(program), text);
  });
}

}  // namespace muster::agent
