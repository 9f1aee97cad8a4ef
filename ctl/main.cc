// ms-ctl: shows and steers what a scheduler's jobs do.
#include <algorithm>
#include <cstdio>
#include <optional>
#include <string>
#include <vector>

#include "common/base/exit_codes.h"
#include "common/base/text.h"
#include "common/settings/preamble.h"
#include "common/settings/settings.h"
#include "common/sys/program.h"
#include "common/tls/tls_settings.h"
#include "ctl/certs/certs_program.h"
#include "ctl/commands/commands.h"
#include "ctl/commands/ctl_settings.h"
#include "ctl/convert/convert.h"

namespace muster {
namespace {

// Returns the arguments of `ms-ctl certs …`, which has a table of settings of its own. `certs` must be the first word
// that is not a flag. Empty if it is not.
std::optional<std::vector<std::string>> CertsArguments(std::vector<std::string> args) {
  const auto word =
      std::find_if(args.begin(), args.end(), [](const std::string& arg) { return arg.empty() || arg.front() != '-'; });
  if (word == args.end() || *word != "certs") return std::nullopt;
  args.erase(word);
  return args;
}

// True for `ms-ctl convert --help`: further words, and other flags, are those of the line.
bool AsksForHelp(const std::vector<std::string>& args) {
  return args.size() == 2 && (args[1] == "--help" || args[1] == "-h");
}

// Runs `ms-ctl convert LINE`: the words after it are another program's, and none of them is a setting.
int RunConvert(std::vector<std::string> words) {
  if (!words.empty() && words[0] == "--") words.erase(words.begin());
  const ctl::Converted converted = ctl::Convert(words);
  for (const std::string& note : converted.notes) std::fprintf(stderr, "note: %s\n", EscapeControl(note).c_str());
  if (!converted.error.empty()) {
    std::fprintf(stderr, "ms-ctl: convert: %s\n", EscapeControl(converted.error).c_str());
    return kExitUsage;
  }
  std::printf("%s\n", converted.line.c_str());
  return kExitSuccess;
}

int Main(std::vector<std::string> args) {
  BeginProgram("ms-ctl");
  if (!args.empty() && args[0] == "convert" && !AsksForHelp(args)) return RunConvert({args.begin() + 1, args.end()});
  if (const auto certs = CertsArguments(args)) {
    ForbidCoreDumps();  // it makes and reads keys
    return certs::RunCerts(*certs, ProcessEnvironment());
  }
  for (std::string& arg : args) {
    if (arg == "-f") arg = "--follow=1";
    if (arg == "-o") arg = "--output";
  }
  ctl::CtlSettings settings;
  SettingsTable table = ctl::CtlSettingsTable(settings);
  const LoadResult loaded = LoadSettings(table, args, ProcessEnvironment());
  const bool wants_one_help = loaded.wants_help && !loaded.wants_all_help && !loaded.positional.empty();
  if (wants_one_help) return ctl::RunCommand({"help", loaded.positional[0]}, settings, table);
  if (const auto code = AnswerAtOnce(table, loaded)) return *code;
  for (const std::string& error : loaded.findings.errors) std::fprintf(stderr, "ms-ctl: %s\n", error.c_str());
  if (!loaded.findings.errors.empty()) return kExitUsage;
  if (loaded.positional.empty()) {
    std::fprintf(stderr, "ms-ctl: a command is missing: ms-ctl status shows the jobs, ms-ctl help lists all\n");
    return kExitUsage;
  }
  const auto job_source = loaded.sources.find("job");
  settings.is_job_on_line = job_source != loaded.sources.end() && job_source->second.starts_with("--");
  return ctl::RunCommand(loaded.positional, settings, table);
}

}  // namespace
}  // namespace muster

int main(int argc, char** argv) { muster::EndProgram(muster::Main(std::vector<std::string>(argv + 1, argv + argc))); }
