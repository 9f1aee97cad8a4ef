// What the line begins with → what is looked at next:
//
//   A=1 …                                   what follows; the assignment stays
//   torchrun, /opt/bin/torchrun, …          the launcher
//   python [-u …] -m torch.distributed.run  the launcher, and its python
//   python /usr/bin/torchrun                the same
//   env A=1 …, uv run …, srun …             what the runner starts; the runner stays
//   bash -c "…"; one word with blanks       each command in it; the text around them stays
//   bash launch.sh                          each command in the file; one line comes out for each launcher
//   MS_WORKER_NUM=8 … python net.py         MindSpore's dynamic cluster: ms-worker stands before the command
#include "ctl/convert/convert.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "common/command/python_target.h"
#include "common/command/runners.h"
#include "common/command/shell_words.h"
#include "common/command/started.h"
#include "ctl/convert/launcher_line.h"
#include "ctl/convert/launchers.h"

namespace muster::ctl {
namespace {

using Words = std::vector<std::string>;

constexpr char kKnown[] = "torchrun, python -m torch.distributed.launch, mpirun, mpiexec, horovodrun and msrun";
constexpr int kMostLayers = 8;

// A line, and how its words are written for a shell.
struct Line {
  Words assignments, words, typed;
  bool is_of_dynamic_cluster = false;  // MindSpore's variables of it are set
};

Words From(const Words& words, size_t at) {
  return {words.begin() + static_cast<std::ptrdiff_t>(std::min(at, words.size())), words.end()};
}

void Append(const Words& more, Words& words) { words.insert(words.end(), more.begin(), more.end()); }

bool SetsDynamicCluster(const Words& assignments) {
  return std::any_of(assignments.begin(), assignments.end(), [](const std::string& assignment) {
    return absl::StartsWith(assignment, "MS_WORKER_NUM=") || absl::StartsWith(assignment, "MS_ROLE=");
  });
}

class Search {
 public:
  // `error` is empty and `line` too: there is no launcher.
  Converted Look(Line line, int depth) {
    Words before;
    for (const std::string& assignment : line.assignments) TakeAssignment(assignment, before);
    line.is_of_dynamic_cluster |= SetsDynamicCluster(line.assignments);
    Words& words = line.words;
    for (; !words.empty() && depth < kMostLayers; ++depth) {
      if (const auto found = LauncherAt(line)) {
        LauncherLine launcher = *found;
        launcher.before = before;
        if (launcher.launcher->options == FindLauncher("torchrun")->options) launcher.options = options_;
        return ConvertLauncher(std::move(launcher));
      }
      const RunProgram program = ProgramOfRunner(words);
      if (program.text_at != 0) return LookIntoText(line, program.text_at, std::move(before), depth);
      if (program.words.empty()) break;
      NoteRunner(Words(words.begin(), words.begin() + static_cast<std::ptrdiff_t>(program.before)));
      before.insert(before.end(), line.typed.begin(), line.typed.begin() + static_cast<std::ptrdiff_t>(program.before));
      Words typed = From(line.typed, program.before);
      if (program.words.size() > typed.size()) typed.insert(typed.begin(), program.words[0]);  // python
      line.typed = std::move(typed);
      words = program.words;
    }
    if (words.empty()) return {};
    const ShellScript script = ReadShellScript(words);
    if (!script.file.empty()) return LookIntoScript(script, depth);
    if (!line.is_of_dynamic_cluster || !IsPython(BaseName(words[0]))) return {};
    before.emplace_back("ms-worker --");
    Append(line.typed, before);
    return {absl::StrJoin(before, " "), {}, ""};
  }

  // Each of the text's commands, converted where it is a launcher, with the text between them.
  Converted LookIntoText(const std::string& text, int depth) {
    Converted out;
    size_t done = 0;
    bool is_any = false;
    for (const auto& [command, converted] : ConvertEach(ScriptCommands(text, {}), depth)) {
      Append(converted.notes, out.notes);
      if (!converted.error.empty()) return {"", out.notes, converted.error};
      is_any = true;
      absl::StrAppend(&out.line, text.substr(done, command.begin - done), converted.line);
      done = command.end;
    }
    if (!is_any) return {};
    absl::StrAppend(&out.line, text.substr(done));
    return out;
  }

 private:
  using Each = std::vector<std::pair<ShellCommand, Converted>>;

  void TakeAssignment(const std::string& assignment, Words& before) {
    const size_t equals = assignment.find('=');
    const std::string value = assignment.substr(equals + 1);
    if (absl::StartsWith(assignment, "PET_")) {
      const std::string name = absl::AsciiStrToLower(assignment.substr(4, equals - 4));
      options_.push_back(absl::StrCat("--", name, "=", value));
      return;
    }
    before.push_back(absl::StrCat(assignment.substr(0, equals + 1), value.empty() ? "" : ShownValue(value)));
  }

  static std::optional<LauncherLine> LauncherAt(const Line& line) {
    const Words& words = line.words;
    LauncherLine found;
    size_t after = 1;
    if (IsPython(BaseName(words[0]))) {
      const PythonTarget python = PythonTargetOf(words);
      const bool may_be = python.runs == PythonTarget::Runs::kModule || python.runs == PythonTarget::Runs::kScript;
      if (may_be) found.launcher = FindLauncher(BaseName(python.name));
      found.python = words[0];
      after = python.after;
    } else {
      found.launcher = FindLauncher(BaseName(words[0]));
      const size_t slash = words[0].rfind('/');
      if (slash != std::string::npos) found.python = words[0].substr(0, slash + 1) + "python3";
    }
    if (found.launcher == nullptr) return std::nullopt;
    found.words = From(words, after);
    found.typed = From(line.typed, after);
    return found;
  }

  void NoteRunner(const Words& runner) {
    if (BaseName(runner[0]) != "srun") return;
    const bool is_once = absl::StrContains(absl::StrCat(absl::StrJoin(runner, " "), " "), "--ntasks-per-node=1 ") ||
                         absl::StrContains(absl::StrCat(absl::StrJoin(runner, " "), " "), "--ntasks-per-node 1 ");
    if (!is_once) notes_.emplace_back("srun has to start ms-worker once on each node: --ntasks-per-node=1");
  }

  // bash -c TEXT: the shell stays.
  Converted LookIntoText(const Line& line, size_t text_at, Words before, int depth) {
    Converted out = LookIntoText(line.words[text_at], depth + 1);
    if (out.line.empty()) return out;
    Append({line.typed.begin(), line.typed.begin() + static_cast<std::ptrdiff_t>(text_at)}, before);
    before.push_back(ShellWord(out.line));
    Append(From(line.typed, text_at + 1), before);
    out.line = absl::StrJoin(before, " ");
    return out;
  }

  Converted LookIntoScript(const ShellScript& script, int depth) {
    Converted out;
    for (auto& [command, converted] : ConvertEach(ScriptCommands(script.text, script.arguments), depth)) {
      Append(converted.notes, out.notes);
      const std::string where = absl::StrCat("line ", command.line, " of ", script.file);
      if (!converted.error.empty()) return {"", out.notes, absl::StrCat(where, ": ", converted.error)};
      out.notes.push_back(absl::StrCat("this is for ", where, ", whose command is ", command.words[0],
                                       ": put it there, and start the script as before"));
      absl::StrAppend(&out.line, out.line.empty() ? "" : "\n", converted.line);
    }
    return out;
  }

  Each ConvertEach(std::vector<ShellCommand> commands, int depth) {
    Each each;
    bool is_of_dynamic_cluster = false;
    for (ShellCommand& command : commands) {
      is_of_dynamic_cluster |= SetsDynamicCluster(command.assignments) || SetsDynamicCluster(command.words);
      if (command.words.empty() || IsOnlyAsked(command.words)) continue;
      Converted converted = Look({command.assignments, command.words, command.typed, is_of_dynamic_cluster}, depth + 1);
      if (!converted.line.empty() || !converted.error.empty())
        each.emplace_back(std::move(command), std::move(converted));
    }
    return each;
  }

 public:
  Words notes_;

 private:
  Words options_;  // of torchrun's PET_ variables
};

// No launcher was found.
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
    out = search.LookIntoText(words[0], 0);
    if (out.line.empty() && out.error.empty()) {
      const std::vector<ShellCommand> commands = ShellCommands(words[0]);
      out.error = WhyNone(commands.empty() ? Words() : commands[0].words);
    }
  } else {
    Line line;
    size_t at = 0;
    while (at < words.size() && IsAssignment(words[at])) line.assignments.push_back(words[at++]);
    for (; at < words.size(); ++at) {
      line.words.push_back(words[at]);
      line.typed.push_back(ShellWord(words[at]));
    }
    out = search.Look(std::move(line), 0);
    if (out.line.empty() && out.error.empty()) out.error = WhyNone(words);
  }
  out.notes.insert(out.notes.begin(), search.notes_.begin(), search.notes_.end());
  return out;
}

}  // namespace muster::ctl
