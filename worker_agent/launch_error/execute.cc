// Execute's reaction to a file for which execve fails:
//
//   the error, and the file                      what follows
//   ENOEXEC, a first line with an interpreter    fails: the interpreter has the wrong format
//   ENOEXEC, another text                        /bin/sh runs it
//   ENOEXEC, not a text                          fails with that error
//   an error as in MayBeElsewhere                tries the next folder of PATH; without one, fails with the error
//   any other error                              fails with that error
#include "worker_agent/launch_error/execute.h"

#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "worker_agent/launch_error/one_word.h"
#include "worker_agent/launch_error/program_format.h"

namespace muster::agent {
namespace {

constexpr char kShell[] = "/bin/sh";

ExecFailure ExecuteFile(const std::string& path, const std::vector<char*>& argv) {
  execv(path.c_str(), argv.data());
  if (errno != ENOEXEC) return {LaunchStep::kProgram, errno, path};
  const std::string head = ReadHead(path);
  if (!absl::StripAsciiWhitespace(InterpreterLine(head)).empty()) return {LaunchStep::kInterpreter, ENOEXEC, path};
  if (!IsText(head)) return {LaunchStep::kProgram, ENOEXEC, path};
  std::vector<char*> words = {const_cast<char*>(kShell), const_cast<char*>(path.c_str())};
  words.insert(words.end(), argv.begin() + 1, argv.end());
  execv(kShell, words.data());
  return {LaunchStep::kProgram, errno, kShell};
}

// True if execvp would go on with the next folder of PATH.
bool MayBeElsewhere(int error) {
  return error == EACCES || error == ENOENT || error == ENOTDIR || error == ESTALE || error == ENODEV ||
         error == ETIMEDOUT;
}

bool IsThere(const std::string& path) {
  struct stat info {};
  return stat(path.c_str(), &info) == 0;
}

// Returns the program that runs the file: the interpreter that its first line names, or its loader.
std::string NamedInterpreter(const std::string& path) {
  const std::string head = ReadHead(path);
  const std::vector<std::string> words =
      absl::StrSplit(InterpreterLine(head), absl::ByAnyChar(" \t"), absl::SkipEmpty());
  return words.empty() ? LoaderOf(head) : words[0];
}

}  // namespace

ExecFailure Execute(const std::vector<std::string>& words) {
  if (words[0].empty())
    return {LaunchStep::kProgram, ENOENT, ""};  // joined to a folder of PATH it would name the folder
  std::vector<char*> argv;
  for (const std::string& word : words) argv.push_back(const_cast<char*>(word.c_str()));
  argv.push_back(nullptr);
  if (words[0].find('/') != std::string::npos) return ExecuteFile(words[0], argv);
  const char* search_path = getenv("PATH");
  ExecFailure worst{LaunchStep::kProgram, ENOENT, ""};
  for (const absl::string_view folder : absl::StrSplit(search_path == nullptr ? kDefaultPath : search_path, ':')) {
    ExecFailure failure = ExecuteFile(absl::StrCat(folder, folder.empty() ? "" : "/", words[0]), argv);
    if (!MayBeElsewhere(failure.error)) return failure;
    // Keep the first error about a file that exists: it is more useful than ENOENT for a missing one.
    if (worst.path.empty() && (failure.error == EACCES || IsThere(failure.path))) worst = std::move(failure);
  }
  return worst;
}

LaunchError Explain(const ExecFailure& failure, const std::vector<std::string>& words, const std::string& folder) {
  const std::string& program = words[0];
  const std::string& named = failure.path;
  const bool is_relative = !named.empty() && named[0] != '/' && !folder.empty();
  const std::string path = is_relative ? absl::StrCat(folder, "/", named) : named;
  const std::string why = std::strerror(failure.error);
  const std::string hint = OneWordHint(words);
  const std::string shown = named.empty() || named == program ? program : absl::StrCat(program, " (", named, ")");
  const auto failed = [&](LaunchStep step, int error, const std::string& what) {
    return MakeLaunchError(step, error, absl::StrCat(shown, ": ", what));
  };
  const std::string interpreter = NamedInterpreter(path);
  if (failure.step == LaunchStep::kInterpreter) {
    return failed(failure.step, failure.error,
                  absl::StrCat(why, ": its interpreter ", interpreter, " (first line): ", FormatOfFile(interpreter)));
  }
  struct stat info {};
  const bool is_there = stat(path.c_str(), &info) == 0;
  switch (failure.error) {
    case ENOEXEC:
      return failed(failure.step, ENOEXEC, absl::StrCat(why, ": ", FormatOfFile(path)));
    case EACCES:
      if (is_there && S_ISDIR(info.st_mode)) return failed(failure.step, EISDIR, "it is a folder");
      return failed(failure.step, EACCES, "permission denied");
    case ENAMETOOLONG:
      return failed(failure.step, hint.empty() ? ENAMETOOLONG : ENOENT, absl::StrCat(why, hint));
    case ENOENT:
    case ENOTDIR:
      break;
    default:
      return failed(failure.step, failure.error, why);
  }
  if (named.empty()) return failed(failure.step, ENOENT, absl::StrCat("not found in PATH", hint));
  if (!is_there) return failed(failure.step, failure.error, absl::StrCat("no such file", hint));
  if (interpreter.empty() || IsThere(interpreter)) return failed(LaunchStep::kInterpreter, ENOENT, why);
  const bool is_script = !InterpreterLine(ReadHead(path)).empty();
  return failed(LaunchStep::kInterpreter, ENOENT,
                absl::StrCat(is_script ? "the interpreter that its first line names, " : "the loader that it names, ",
                             interpreter, ", was not found"));
}

}  // namespace muster::agent
