// The program behind all runners (env, …)             does it read its script from standard input?
//
//   python, python -u, python -, python /dev/stdin      yes; no if it has a script, -m or -c
//   bash, bash -e, sh -s ARG, bash /dev/stdin           yes; no if it has a file or -c
//   R, R --no-save, R -f -, R --file=-                  yes; no if it has -e or -f FILE
//   node, perl, ruby, julia, … without a word, or -     yes
//   a program that a shell script starts                no: the script gives it its input
#include <algorithm>
#include <iterator>
#include <string_view>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "common/base/text.h"
#include "common/command/python_target.h"
#include "common/command/runners.h"
#include "common/command/started.h"
#include "worker_agent/launch/command/command_check.h"

namespace muster::agent {
namespace {

using Words = std::vector<std::string>;

constexpr std::string_view kInterpreters[] = {"node",   "nodejs", "perl",  "ruby", "julia", "lua",     "luajit", "php",
                                              "octave", "guile",  "tclsh", "pypy", "pypy3", "ipython", "Rscript"};

bool IsOfShell(const Words& words) {
  const size_t file = FileOfShell(words);
  if (file != 0) return NamesInput(words[file]);
  return !std::any_of(words.begin() + 1, words.end(), [](const std::string& word) {
    return absl::StartsWith(word, "--") ? word == "--version" || word == "--help"
                                        : absl::StartsWith(word, "-") && absl::StrContains(word, "c");
  });
}

bool IsOfR(const Words& words) {
  for (size_t i = 1; i < words.size(); ++i) {
    const std::string& word = words[i];
    if (word == "-f" || word == "--file") return i + 1 < words.size() && NamesInput(words[i + 1]);
    if (absl::StartsWith(word, "--file=")) return NamesInput(word.substr(7));
    if (word == "-e" || word == "CMD" || word == "--version" || word == "--help") return false;
  }
  return true;
}

bool ReadsInput(const Words& words) {
  const std::string name = BaseName(words[0]);
  if (NamesInput(words[0])) return true;  // uv run -
  if (IsPython(name)) return PythonTargetOf(words).runs == PythonTarget::Runs::kInput;
  if (IsShell(name)) return IsOfShell(words);
  if (name == "R") return IsOfR(words);
  if (std::find(std::begin(kInterpreters), std::end(kInterpreters), name) == std::end(kInterpreters)) return false;
  if (words.size() == 1) return name != "Rscript";
  const auto script = std::find_if(words.begin() + 1, words.end(), [](const std::string& word) {
    return NamesInput(word) || !absl::StartsWith(word, "-");
  });
  return script != words.end() && NamesInput(*script);
}

}  // namespace

void CheckScriptInput(const std::vector<std::string>& command, SettingsFindings& findings) {
  for (const StartedProgram& program : ProgramsOf(command)) {
    if (!program.is_last || !program.script.empty() || program.has_input || !ReadsInput(program.words)) continue;
    findings.warnings.push_back(
        absl::StrCat("the command is ", Quoted(absl::StrJoin(program.words, " ")),
                     ", which reads its script from standard input, and that is empty for each process here: nothing "
                     "will run; write the script to a file, or pass it in the command (-c). Only a single process "
                     "without --log_dir and --tail gets ms-worker's standard input"));
    return;
  }
}

}  // namespace muster::agent
