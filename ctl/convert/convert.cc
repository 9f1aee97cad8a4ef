// The beginning of the line decides what Convert does:
//
//   A=1 …                                   keeps the assignment, and reads the words after it
//   torchrun, /opt/bin/torchrun,
//   accelerate launch, …                    converts the launcher's line
//   python [-u …] -m torch.distributed.run  converts the launcher's line, and keeps this python
//   python /usr/bin/torchrun                converts the launcher's line, and keeps this python
//   env A=1 …, uv run …, srun …             keeps these words, and reads the command that they start
//   bash -c "…"; one word with blanks       reads each command in the text, and keeps the text between them
//   eval …                                  reads each command in the words after it, and leaves eval out
//   bash launch.sh                          reads each command in the file; the result has a line for each launcher
//   MS_WORKER_NUM=8 … python net.py         MindSpore's dynamic cluster: puts ms-worker before the command
#include "ctl/convert/convert.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "common/command/python_target.h"
#include "common/command/runners.h"
#include "common/command/script_values.h"
#include "common/command/shell_words.h"
#include "common/command/started.h"
#include "ctl/convert/launcher_line.h"
#include "ctl/convert/launchers.h"
#include "ctl/convert/written.h"

namespace muster::ctl {
namespace {

using Words = std::vector<std::string>;

constexpr char kKnown[] =
    "torchrun, python -m torch.distributed.launch, accelerate launch, deepspeed, mpirun, mpiexec, horovodrun and msrun";
constexpr int kMaxLayers = 8;
constexpr int kMaxScripts = 64;  // scripts that are read at most, because a script may call itself

struct Line {
  Written assignments, program;
  Words arguments = {};                // the arguments of the script that contains the line
  bool is_of_dynamic_cluster = false;  // the variables of MindSpore's dynamic cluster are set
};

// A shell script's text.
struct Text {
  std::string text;
  Words arguments = {};      // the value of "$@" in the text
  bool is_expanded = false;  // another shell expands the text first, so a variable in it is that shell's
};

Words From(const Words& words, size_t at) {
  return {words.begin() + static_cast<std::ptrdiff_t>(std::min(at, words.size())), words.end()};
}

bool SetsDynamicCluster(const Words& assignments) {
  return std::any_of(assignments.begin(), assignments.end(), [](const std::string& assignment) {
    return absl::StartsWith(assignment, "MS_WORKER_NUM=") || absl::StartsWith(assignment, "MS_ROLE=");
  });
}

class Search {
 public:
  // Converts the line. If both `error` and `line` of the result are empty, the line has no launcher.
  Converted Look(Line line, int depth) {
    if (depth >= kMaxLayers) return {};
    Words before;
    Written options;
    options.is_split = line.assignments.is_split;
    for (size_t i = 0; i < line.assignments.size(); ++i) TakeAssignment(line.assignments, i, before, options);
    line.is_of_dynamic_cluster |= SetsDynamicCluster(line.assignments.words);
    Written& program = line.program;
    for (; !program.words.empty() && depth < kMaxLayers; ++depth) {
      SplitString(program);
      if (std::optional<LauncherLine> launcher = LauncherAt(program)) {
        launcher->before = std::move(before);
        launcher->script_arguments = std::move(line.arguments);
        if (launcher->launcher->options == FindLauncher("torchrun")->options) launcher->variables = std::move(options);
        return ConvertLauncher(*std::move(launcher));
      }
      RunProgram started = ProgramOfRunner(program.words);
      if (started.text_at != 0) return LookIntoText(program, started.text_at, std::move(before), depth);
      if (started.words.empty()) break;
      NoteRunner(Words(program.words.begin(), program.words.begin() + static_cast<std::ptrdiff_t>(started.before)));
      Append(program.Before(started.before), before);
      program = program.From(started.before);
      if (started.words.size() > program.size())
        program.typed.insert(program.typed.begin(), started.words[0]);  // the runner implies this word: python
      program.words = std::move(started.words);
    }
    if (program.words.empty()) return {};
    if (program.words[0] == "eval") {
      Converted out = LookIntoText({absl::StrJoin(From(program.words, 1), " "), line.arguments}, depth + 1);
      if (!out.line.empty()) out.line = absl::StrJoin(before, " ") + (before.empty() ? "" : " ") + out.line;
      return out;
    }
    const ShellScript script = ReadShellScript(program.words);
    if (!script.file.empty()) return scripts_++ < kMaxScripts ? LookIntoScript(script, depth) : Converted{};
    if (!line.is_of_dynamic_cluster || !IsPython(BaseName(program.words[0]))) return {};
    before.emplace_back("ms-worker --");
    Append(program.All(), before);
    return {absl::StrJoin(before, " "), {}, ""};
  }

  // Converts each of the text's commands that is a launcher, and keeps the text between them.
  Converted LookIntoText(const Text& source, int depth) {
    const std::string& text = source.text;
    Converted out;
    size_t done = 0;
    bool is_any = false;
    for (const auto& [command, converted] : ConvertEach(source, depth)) {
      Append(converted.notes, out.notes);
      if (!converted.error.empty()) return {"", out.notes, converted.error};
      is_any = true;
      absl::StrAppend(&out.line, text.substr(done, command.begin - done), WithRedirections(command, converted));
      done = command.end;
    }
    if (!is_any) return {};
    absl::StrAppend(&out.line, text.substr(done));
    return out;
  }

  const Words& notes() const { return notes_; }

 private:
  using Each = std::vector<std::pair<ShellCommand, Converted>>;

  // Adds an assignment to `before`, the words to keep. An assignment such as PET_NNODES=2 is an option of torchrun, and
  // goes to `options` as --nnodes=2.
  static void TakeAssignment(const Written& assignments, size_t i, Words& before, Written& options) {
    const std::string& assignment = assignments.words[i];
    const std::string name = assignment.substr(0, assignment.find('=') + 1);
    if (absl::StartsWith(name, "PET_")) {
      const std::string option = absl::StrCat("--", absl::AsciiStrToLower(name.substr(4)));
      options.Add(option + assignment.substr(name.size()), option + assignments.ValueOf(i));
    } else {
      before.push_back(name.size() == assignment.size() ? name : name + assignments.ValueOf(i));
    }
  }

  static void SplitString(Written& program) {
    Words words = WithoutSplitString(program.words);
    if (words == program.words) return;
    program.typed.clear();
    for (const std::string& word : words) program.typed.push_back(ShellWord(word));
    program.words = std::move(words);
  }

  static std::optional<LauncherLine> LauncherAt(const Written& program) {
    const Words& words = program.words;
    const std::string name = BaseName(words[0]);
    LauncherLine found;
    size_t after = 1;
    const auto find = [&](const std::string& by_name) {
      found.launcher = FindLauncher(by_name);
      if (found.launcher != nullptr || after >= words.size()) return;
      found.launcher = FindLauncher(absl::StrCat(by_name, " ", words[after]));
      ++after;
    };
    // A variable may be a python, as in "$PYTHON -m torch.distributed.run".
    const bool may_be_python = IsPython(name) || (absl::StartsWith(words[0], "$") && FindLauncher(name) == nullptr);
    if (may_be_python) {
      const PythonTarget python = PythonTargetOf(words);
      const bool may_be = python.runs == PythonTarget::Runs::kModule || python.runs == PythonTarget::Runs::kScript;
      found.python = program.One(0);
      after = python.after;
      if (may_be) find(BaseName(python.name));
    } else {
      if (name.size() < words[0].size()) found.python = PythonBeside(program.One(0), name);
      find(name);
    }
    if (found.launcher == nullptr) return std::nullopt;
    found.program = program.From(after);
    return found;
  }

  // Returns `path`, which is written for a shell, with its last part (`name`) replaced by python3.
  static std::string PythonBeside(std::string path, const std::string& name) {
    const size_t at = path.rfind(name);
    return at == std::string::npos ? "python3" : path.replace(at, name.size(), "python3");
  }

  void NoteRunner(const Words& runner) {
    if (BaseName(runner[0]) != "srun") return;
    const bool is_once = absl::StrContains(absl::StrCat(absl::StrJoin(runner, " "), " "), "--ntasks-per-node=1 ") ||
                         absl::StrContains(absl::StrCat(absl::StrJoin(runner, " "), " "), "--ntasks-per-node 1 ");
    if (!is_once) notes_.emplace_back("srun must start ms-worker once on each node: add --ntasks-per-node=1");
  }

  // Converts the commands in the text of `bash -c TEXT`, and keeps bash. If the text is in double quotes, the outer
  // shell expands $NAME, and the inner shell \$NAME.
  Converted LookIntoText(const Written& shell, size_t text_at, Words before, int depth) {
    Text source{shell.words[text_at], From(shell.words, text_at + 2)};
    const std::string& typed = shell.typed[text_at];
    const bool is_double = !shell.is_split && absl::StartsWith(typed, "\"") && absl::EndsWith(typed, "\"");
    if (is_double && absl::StrContains(source.text, "\\$")) {
      source.text = absl::StrReplaceAll(source.text, {{"\\$", ""}});
      const bool is_mixed = source.text.find_first_of("$`") != std::string::npos;
      source.text = absl::StrReplaceAll(shell.words[text_at], {{"\\$", "$"}});
      if (is_mixed && !LookIntoText(source, depth + 1).line.empty()) {
        return {"", {}, "the text after -c has both $NAME and \\$NAME: convert only this text, without its quotes"};
      }
    } else {
      source.is_expanded = is_double && source.text.find_first_of("$`") != std::string::npos;
    }
    Converted out = LookIntoText(source, depth + 1);
    if (out.line.empty()) return out;
    Append(shell.Before(text_at), before);
    before.push_back(source.is_expanded ? ShellWordToExpand(out.line) : ShellWord(out.line));
    Append(shell.From(text_at + 1).All(), before);
    out.line = absl::StrJoin(before, " ");
    return out;
  }

  // Returns the new line of a command, with the redirections that stood between its words at the end.
  static std::string WithRedirections(const ShellCommand& command, const Converted& converted) {
    std::string line = converted.line;
    for (const std::string& redirection : command.redirections) absl::StrAppend(&line, " ", redirection);
    return line;
  }

  Converted LookIntoScript(const ShellScript& script, int depth) {
    Converted out;
    for (auto& [command, converted] : ConvertEach({script.text, script.arguments}, depth)) {
      Append(converted.notes, out.notes);
      const std::string where = absl::StrCat("line ", command.line, " of ", script.file);
      if (!converted.error.empty()) return {"", out.notes, absl::StrCat(where, ": ", converted.error)};
      out.notes.push_back(absl::StrCat("this is for ", where, ", where the command is ", command.words[0],
                                       ": put it there, and start the script as before"));
      absl::StrAppend(&out.line, out.line.empty() ? "" : "\n", WithRedirections(command, converted));
    }
    return out;
  }

  Each ConvertEach(const Text& source, int depth) {
    Each each;
    bool is_of_dynamic_cluster = false;
    for (ShellCommand& command :
         source.is_expanded ? ShellCommands(source.text) : CommandsWithCertainValues(source.text)) {
      is_of_dynamic_cluster |= SetsDynamicCluster(command.assignments) || SetsDynamicCluster(command.words);
      if (command.words.empty() || IsOnlyAsked(command.words)) continue;
      const bool is_in_function = std::any_of(command.blocks.begin(), command.blocks.end(),
                                              [](const ShellBlock& block) { return block.is_function; });
      Converted converted = Look({{command.assignments, command.typed_assignments},
                                  {command.words, command.typed},
                                  is_in_function ? Words() : source.arguments,
                                  is_of_dynamic_cluster},
                                 depth + 1);
      if (!converted.line.empty() || !converted.error.empty())
        each.emplace_back(std::move(command), std::move(converted));
    }
    return each;
  }

  Words notes_;
  int scripts_ = 0;  // the number of scripts that were read
};

// Returns the error for a line without a launcher.
std::string WhyNone(const Words& words) {
  const auto program =
      std::find_if(words.begin(), words.end(), [](const std::string& word) { return !IsAssignment(word); });
  if (program == words.end()) return absl::StrCat("there is no launcher in the line; known are ", kKnown);
  if (BaseName(*program) == "srun") {
    return "srun starts no other launcher here: let it start one ms-worker on each node, as in srun "
           "--ntasks-per-node=1 ms-worker --from slurm --with_scheduler --local_worker_num N -- COMMAND";
  }
  return absl::StrCat(BaseName(*program), " is no launcher that is known here; known are ", kKnown);
}

}  // namespace

Converted Convert(const std::vector<std::string>& words) {
  Search search;
  Converted out;
  if (words.size() == 1 && words[0].find_first_of(" \t\n") != std::string::npos) {
    out = search.LookIntoText({words[0]}, 0);
    if (out.line.empty() && out.error.empty()) {
      const std::vector<ShellCommand> commands = ShellCommands(words[0]);
      const auto first = std::find_if(commands.begin(), commands.end(),
                                      [](const ShellCommand& command) { return !command.words.empty(); });
      out.error = WhyNone(first == commands.end() ? Words() : first->words);
    }
  } else {
    Line line;
    line.assignments.is_split = line.program.is_split = true;
    size_t at = 0;
    for (; at < words.size() && IsAssignment(words[at]); ++at) line.assignments.Add(words[at], ShellWord(words[at]));
    for (; at < words.size(); ++at) line.program.Add(words[at], ShellWord(words[at]));
    out = search.Look(std::move(line), 0);
    if (out.line.empty() && out.error.empty()) out.error = WhyNone(words);
  }
  out.notes.insert(out.notes.begin(), search.notes().begin(), search.notes().end());
  return out;
}

}  // namespace muster::ctl
