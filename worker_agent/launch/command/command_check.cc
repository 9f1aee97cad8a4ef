// The result of the checks, by the first word of the command:
//
//   the first word                                    the result
//   a missing file, or a name that is not in PATH     exit code 127; if it has a space, a hint on how to type it
//   a folder, or a file that can't be executed        126
//   a script, and its interpreter is missing          127; if the interpreter can't be executed: 126
//   NAME.py that can be run directly                  runs as it is, unless --python is set
//   another NAME.py, or -m                            runs under --python, or else under python from PATH
//   has a {                                           no check: placeholders are filled in later
#include "worker_agent/launch/command/command_check.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <cerrno>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "common/base/text.h"
#include "worker_agent/launch_error/execute.h"
#include "worker_agent/launch_error/one_word.h"
#include "worker_agent/launch_error/program_format.h"

namespace muster::agent {
namespace {

using Variables = std::map<std::string, std::string>;

constexpr int kNotFound = 127;
constexpr int kNotExecutable = 126;

// Returns 0 if the file can be executed, else the errno that says why not.
int WhyNot(const std::string& path) {
  struct stat info {};
  if (stat(path.c_str(), &info) != 0) return errno;
  if (!S_ISREG(info.st_mode)) return EACCES;
  return faccessat(AT_FDCWD, path.c_str(), X_OK, AT_EACCESS) == 0 ? 0 : errno;
}

bool IsMissing(int error) { return error == ENOENT || error == ENOTDIR; }

bool IsFolder(const std::string& path) {
  struct stat info {};
  return stat(path.c_str(), &info) == 0 && S_ISDIR(info.st_mode);
}

// Returns a name for messages; in quotes only if it needs them.
std::string ShownName(const std::string& name) {
  const std::string quoted = Quoted(name);
  const bool is_plain = !name.empty() && quoted == absl::StrCat("\"", name, "\"") && !absl::StrContains(name, " ");
  return is_plain ? name : quoted;
}

CommandProblem Problem(int code, const std::string& name, const std::string& what) {
  return {code, absl::StrCat(ShownName(name), what)};
}

// True if the file's mode allows execution, but its file system is mounted noexec.
bool IsMountedNoexec(const std::string& path) {
  struct stat info {};
  struct statvfs file_system {};
  return stat(path.c_str(), &info) == 0 && (info.st_mode & 0111) != 0 && statvfs(path.c_str(), &file_system) == 0 &&
         (file_system.f_flag & ST_NOEXEC) != 0;
}

constexpr char kMountedNoexec[] =
    " can't be executed: its file system is mounted noexec; copy the file to another file system, mount this one with "
    "exec, or, if it is a script, write its interpreter before it";

CommandProblem NotExecutable(const std::string& path) {
  if (IsFolder(path)) return Problem(kNotExecutable, path, " is a folder: write the program that is to run");
  if (IsMountedNoexec(path)) return Problem(kNotExecutable, path, kMountedNoexec);
  return Problem(
      kNotExecutable, path,
      absl::StrCat(" is not executable: chmod +x ", ShownName(path), ", or write its interpreter before it"));
}

struct FoundProgram {
  int error = 0;     // 0: `path` can be executed; EACCES: it can't; ENOENT: nothing was found
  std::string path;  // empty: not known
};

FoundProgram FindInPath(const std::string& program, const std::string* search_path) {
  if (program.find('/') != std::string::npos) return {WhyNot(program), program};
  std::string refused;
  const std::string path = search_path == nullptr ? kDefaultPath : *search_path;
  for (const absl::string_view folder : absl::StrSplit(path, ':')) {
    const std::string candidate = program.empty() ? "" : absl::StrCat(folder, folder.empty() ? "" : "/", program);
    const int error = WhyNot(candidate);
    if (error == EACCES) {
      refused = candidate;  // execvp goes on; if it finds no better file, it reports EACCES
    } else if (!IsMissing(error)) {
      return {error, candidate};
    }
  }
  if (!refused.empty()) return {EACCES, refused};
  return {ENOENT, ""};
}

const std::string* SearchPath(const Variables& overrides, const Variables& inherited) {
  for (const Variables* variables : {&overrides, &inherited}) {
    if (const auto found = variables->find("PATH"); found != variables->end()) return &found->second;
  }
  return nullptr;
}

std::optional<CommandProblem> CheckInterpreter(const std::string& script, const std::string* search_path) {
  const std::string line = InterpreterLine(ReadHead(script));
  const std::vector<std::string> words = absl::StrSplit(line, absl::ByAnyChar(" \t"), absl::SkipEmpty());
  if (words.empty()) return std::nullopt;
  std::string interpreter = words[0];
  int error = WhyNot(interpreter);
  std::string where = " isn't there";
  if (error == 0 && words.size() > 1 && absl::EndsWith(interpreter, "/env") && words[1][0] != '-' &&
      !absl::StrContains(words[1], "=") && !absl::StrContains(words[1], "/")) {
    interpreter = words[1];
    where = " isn't in PATH";
    error = FindInPath(interpreter, search_path).error;
  }
  if (IsMissing(error)) {
    const bool is_from_windows = absl::EndsWith(interpreter, "\r");
    return Problem(kNotFound, script,
                   absl::StrCat(": its interpreter ", ShownName(interpreter), " (first line)", where,
                                is_from_windows ? ": its lines end as on Windows; sed -i 's/\\r$//' fixes that" : ""));
  }
  if (error == EACCES) {
    return Problem(kNotExecutable, script,
                   absl::StrCat(": its interpreter ", ShownName(interpreter), " (first line) is not executable"));
  }
  return std::nullopt;
}

// True for a .py file that can be run directly, without an interpreter before it.
bool RunsAsItStands(const std::string& file, const std::string* search_path) {
  const bool is_here = file.find('/') == std::string::npos && access(file.c_str(), F_OK) == 0;
  if (is_here) return false;  // without a slash in its name execvp would look for it in PATH only
  const FoundProgram found = FindInPath(file, search_path);
  return found.error == 0 && !InterpreterLine(ReadHead(found.path)).empty();
}

}  // namespace

std::optional<CommandProblem> CheckProgram(const std::string& program, const std::string* search_path,
                                           const std::vector<std::string>& command) {
  const FoundProgram found = FindInPath(program, search_path);
  const std::string hint = OneWordHint(command);
  if (IsMissing(found.error) || (found.error == ENAMETOOLONG && !hint.empty())) {
    if (program.find('/') != std::string::npos) return Problem(kNotFound, program, ": there is no such file" + hint);
    if (program.empty()) return CommandProblem{kNotFound, "the command is an empty word"};
    const bool is_here = hint.empty() && access(program.c_str(), F_OK) == 0;
    return Problem(
        kNotFound, program,
        absl::StrCat(": not found in PATH",
                     is_here ? absl::StrCat("; for the file in this folder write ./", ShownName(program)) : hint));
  }
  if (found.error == EACCES) return NotExecutable(found.path);
  return found.error == 0 ? CheckInterpreter(found.path, search_path) : std::nullopt;
}

std::optional<CommandProblem> CheckCommand(const std::vector<std::string>& command, const Variables& overrides,
                                           const Variables& inherited) {
  if (command.empty() || absl::StrContains(command[0], "{")) return std::nullopt;
  return CheckProgram(command[0], SearchPath(overrides, inherited), command);
}

PythonCommand AddPython(std::vector<std::string>& command, const Variables& overrides, const Variables& inherited,
                        const std::string& chosen) {
  const bool is_module = !command.empty() && command[0] == "-m";
  const bool is_file = !command.empty() && absl::EndsWith(command[0], ".py");
  if (!is_module && !is_file) return {};
  const std::string* search_path = SearchPath(overrides, inherited);
  if (is_file && chosen.empty() && RunsAsItStands(command[0], search_path)) return {};
  PythonCommand out;
  if (is_module && (command.size() < 2 || absl::StartsWith(command[1], "-"))) {
    out.problem = {kNotFound, "-m: name the module after it, as in -m package.train"};
  } else if (is_module && command[1].find_first_of(" \t\n") != std::string::npos) {
    std::vector<std::string> quoted(command.begin() + 1, command.end());
    quoted[0] = absl::StrCat("-m ", quoted[0]);
    out.problem = Problem(kNotFound, command[1], ": no module has such a name" + OneWordHint(quoted));
  }
  if (is_file && !absl::StrContains(command[0], "{")) {
    if (access(command[0].c_str(), F_OK) != 0) {
      out.problem = Problem(kNotFound, command[0], ": there is no such file" + OneWordHint(command));
    } else if (IsFolder(command[0])) {
      out.problem = NotExecutable(command[0]);
    }
  }
  if (!chosen.empty()) {
    if (auto problem = CheckProgram(chosen, search_path); problem && !out.problem) {
      out.problem = {problem->exit_code, absl::StrCat("--python ", problem->text)};
    }
    out.python = chosen;
    command.insert(command.begin(), chosen);
    return out;
  }
  for (const char* name : {"python3", "python"}) {
    const FoundProgram found = FindInPath(name, search_path);
    if (found.error != 0) continue;
    out.python = found.path;
    command.insert(command.begin(), found.path);
    return out;
  }
  out.problem = {kNotFound, absl::StrCat(is_module ? "-m" : ShownName(command[0]),
                                         " needs a python, and neither python3 nor python is found in PATH")};
  return out;
}

}  // namespace muster::agent
