// ms-ctl: shows and steers the jobs of a scheduler.
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

// If the first word that is not a flag is `certs`, returns the arguments without this word; otherwise none. `ms-ctl
// certs` has a settings table of its own.
std::optional<std::vector<std::string>> CertsArguments(std::vector<std::string> args) {
  const auto word =
      std::find_if(args.begin(), args.end(), [](const std::string& arg) { return arg.empty() || arg.front() != '-'; });
  if (word == args.end() || *word != "certs") return std::nullopt;
  args.erase(word);
  return args;
}

// True for `ms-ctl convert --help`. With more words, `--help` is a part of the line to convert.
bool AsksForHelp(const std::vector<std::string>& args) {
  return args.size() == 2 && (args[1] == "--help" || args[1] == "-h");
}

// Runs `ms-ctl convert LINE`. All `words` belong to the line of another program, so none of them is a setting of ours.
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
    ForbidCoreDumps();  // a core dump could contain the private keys that `certs` makes and reads
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
  for (const char* name : {"sched_host", "sched_port", "admin_socket"}) {
    const auto source = loaded.sources.find(name);
    settings.names_scheduler |= source != loaded.sources.end() && source->second != "default";
  }
  return ctl::RunCommand(loaded.positional, settings, table);
}

}  // namespace
}  // namespace muster

int main(int argc, char** argv) { muster::EndProgram(muster::Main(std::vector<std::string>(argv + 1, argv + argc))); }
