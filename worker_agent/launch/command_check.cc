#include "worker_agent/launch/command_check.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "common/base/text.h"

namespace muster::agent {
namespace {

constexpr int kNotFound = 127;
constexpr int kNotExecutable = 126;
constexpr char kDefaultPath[] = "/bin:/usr/bin";  // execvp's without a PATH
constexpr char kCommandRemedy[] = "; correct the command behind --";

// 0, or why the file can't be executed.
int WhyNot(const std::string& path) {
  struct stat info {};
  if (stat(path.c_str(), &info) != 0) return errno;
  if (!S_ISREG(info.st_mode)) return EACCES;
  return faccessat(AT_FDCWD, path.c_str(), X_OK, AT_EACCESS) == 0 ? 0 : errno;
}

bool IsMissing(int error) { return error == ENOENT || error == ENOTDIR; }

CommandProblem NotExecutable(const std::string& path) {
  struct stat info {};
  const bool is_folder = stat(path.c_str(), &info) == 0 && S_ISDIR(info.st_mode);
  return {kNotExecutable,
          absl::StrCat("the command ", Quoted(path), is_folder ? " is a folder" : " is not executable",
                       is_folder ? kCommandRemedy : "; see its rights (chmod +x), or put its interpreter before it")};
}

}  // namespace

std::optional<CommandProblem> CheckProgram(const std::string& program, const std::string* search_path) {
  if (program.find('/') != std::string::npos) {
    const int error = WhyNot(program);
    if (IsMissing(error)) {
      return CommandProblem{kNotFound, absl::StrCat("the command ", Quoted(program), " is not there", kCommandRemedy)};
    }
    if (error == EACCES) return NotExecutable(program);
    return std::nullopt;
  }
  const std::string path = search_path == nullptr ? kDefaultPath : *search_path;
  std::string refused;
  for (const absl::string_view folder : absl::StrSplit(path, ':')) {
    const std::string candidate = program.empty() ? "" : absl::StrCat(folder, folder.empty() ? "" : "/", program);
    const int error = WhyNot(candidate);
    if (error == EACCES) {
      refused = candidate;  // execvp goes on and comes back to it
    } else if (!IsMissing(error)) {
      return std::nullopt;
    }
  }
  if (!refused.empty()) return NotExecutable(refused);
  return CommandProblem{kNotFound, absl::StrCat("the command ", Quoted(program), " is not found in PATH (",
                                                Quoted(path, 500), ")", kCommandRemedy)};
}

std::optional<CommandProblem> CheckCommand(const std::vector<std::string>& command,
                                           const std::map<std::string, std::string>& overrides,
                                           const std::map<std::string, std::string>& inherited) {
  if (command.empty() || command[0].find('{') != std::string::npos) return std::nullopt;
  for (const auto* variables : {&overrides, &inherited}) {
    if (const auto found = variables->find("PATH"); found != variables->end()) {
      return CheckProgram(command[0], &found->second);
    }
  }
  return CheckProgram(command[0], nullptr);
}

}  // namespace muster::agent
