// The rules for the words after a runner's name:
//
//   the runner's subcommand (uv run)      must be there; options may stand before it
//   -x VALUE, --long VALUE                an option and its value; the table says which options take one
//   -x, --long, --long=VALUE              an option
//   A=1                                   an assignment, if the table allows one
//   --                                    the program comes next
//   env -S TEXT                           the words of TEXT replace it
//   a mask, a number of seconds, …        operands: as many words as the table says
//   train.py, -m MODULE after uv run      a Python script or module: runs under python
//   command -v, --help                    the runner starts nothing
#include "common/command/runners.h"

#include <algorithm>
#include <iterator>
#include <string_view>

#include "absl/strings/match.h"
#include "absl/strings/str_split.h"
#include "common/command/python_target.h"
#include "common/command/shell_words.h"

namespace muster {
namespace {

using Words = std::vector<std::string>;

struct Runner {
  std::string_view name;
  std::string_view word = "";        // the subcommand that must follow
  std::string_view letters = "";     // the one-letter options that take a value
  std::string_view long_names = "";  // the long ones, with spaces between them; *: all except `switches`
  std::string_view switches = "";    // the long options that take no value; only with *
  size_t operands = 0;               // number of words between the options and the program
  bool takes_assignments = false;
  bool runs_python = false;
};

constexpr std::string_view kUvValues =
    "with with-editable with-requirements extra no-extra group no-group only-group env-file package python project "
    "directory index default-index index-url extra-index-url find-links config-file config-setting cache-dir color "
    "upgrade-package reinstall-package refresh-package no-binary-package no-build-package resolution prerelease "
    "fork-strategy exclude-newer link-mode index-strategy keyring-provider python-platform from "
    "no-build-isolation-package allow-insecure-host";
constexpr std::string_view kCondaValues = "name prefix cwd env-file rc-file root-prefix attach";
constexpr std::string_view kContainerValues =
    "app bind cwd dns env env-file fusemount home hostname mount network overlay pwd scratch security workdir cpus "
    "memory";
constexpr std::string_view kSrunSwitches =
    "label unbuffered overcommit oversubscribe exclusive hold no-kill quiet verbose multi-prog pty overlap exact whole "
    "kill-on-bad-exit preserve-env immediate contiguous spread-job use-min-nodes disable-status quit-on-interrupt "
    "reboot no-allocate share";

constexpr Runner kRunners[] = {
    {.name = "env", .letters = "uC", .long_names = "unset chdir", .takes_assignments = true},
    {.name = "nice", .letters = "n", .long_names = "adjustment"},
    {.name = "nohup"},
    {.name = "exec", .letters = "a"},
    {.name = "command"},
    {.name = "builtin"},
    {.name = "setsid"},
    {.name = "stdbuf", .letters = "ioe", .long_names = "input output error"},
    {.name = "unbuffer"},
    {.name = "time", .letters = "fo", .long_names = "format output"},
    {.name = "ionice", .letters = "cnpPu", .long_names = "class classdata pid pgid uid"},
    {.name = "taskset", .operands = 1},
    {.name = "chrt", .letters = "TPD", .long_names = "sched-runtime sched-period sched-deadline", .operands = 1},
    {.name = "timeout", .letters = "ks", .long_names = "signal kill-after", .operands = 1},
    {.name = "numactl",
     .letters = "mNCpPiwcL",
     .long_names = "membind cpunodebind physcpubind interleave preferred preferred-many weighted-interleave cpubind"},
    {.name = "prlimit", .letters = "op", .long_names = "output pid"},
    {.name = "choom", .letters = "np", .long_names = "adjust pid"},
    {.name = "cgexec", .letters = "g"},
    {.name = "flock", .letters = "wE", .long_names = "wait timeout conflict-exit-code", .operands = 1},
    {.name = "setarch", .operands = 1},
    {.name = "chroot", .long_names = "userspec groups", .operands = 1},
    {.name = "unshare", .letters = "SGRw", .long_names = "setuid setgid root wd"},
    {.name = "nsenter", .letters = "tSG", .long_names = "target setuid setgid"},
    {.name = "setpriv",
     .long_names = "*",
     .switches = "clear-groups keep-groups init-groups no-new-privs reset-env dump"},
    {.name = "sudo",
     .letters = "ugpCDhRTtrU",
     .long_names = "user group prompt chdir host chroot close-from command-timeout role type other-user",
     .takes_assignments = true},
    {.name = "doas", .letters = "uC"},
    {.name = "gosu", .operands = 1},
    {.name = "su-exec", .operands = 1},
    {.name = "tini", .letters = "pe"},
    {.name = "dumb-init", .letters = "r", .long_names = "rewrite"},
    {.name = "ssh-agent", .letters = "aEtPO"},
    {.name = "dbus-run-session", .long_names = "config-file dbus-daemon"},
    {.name = "systemd-run",
     .letters = "pEutHM",
     .long_names = "property setenv unit slice uid gid nice working-directory description host machine"},
    {.name = "xvfb-run",
     .letters = "efnpsw",
     .long_names = "error-file auth-file server-num xauth-protocol server-args wait"},
    {.name = "strace", .letters = "aeEIobOpPsSuUX"},
    {.name = "valgrind"},
    {.name = "nsys", .word = "profile", .letters = "abcdefghijklmnopqrstuvwxyzBFGMNTVWXY", .long_names = "*"},
    {.name = "ddtrace-run"},
    {.name = "opentelemetry-instrument", .long_names = "*"},
    {.name = "uv", .word = "tool run", .letters = "pwifCP", .long_names = kUvValues},
    {.name = "uv", .word = "run", .letters = "pwifCP", .long_names = kUvValues, .runs_python = true},
    {.name = "uvx", .letters = "pwifCP", .long_names = kUvValues},
    {.name = "poetry", .word = "run", .letters = "CP", .long_names = "directory project"},
    {.name = "pdm", .word = "run", .letters = "pc", .long_names = "project venv config", .runs_python = true},
    {.name = "hatch",
     .word = "run",
     .letters = "epi",
     .long_names = "env project include exclude data-dir cache-dir config"},
    {.name = "pipenv", .word = "run", .long_names = "python pypi-mirror"},
    {.name = "pixi", .word = "run", .letters = "em", .long_names = "environment manifest-path color"},
    {.name = "rye", .word = "run", .letters = "f", .long_names = "pyproject"},
    {.name = "conda", .word = "run", .letters = "np", .long_names = kCondaValues},
    {.name = "mamba", .word = "run", .letters = "np", .long_names = kCondaValues},
    {.name = "micromamba", .word = "run", .letters = "npra", .long_names = kCondaValues},
    {.name = "apptainer", .word = "exec", .letters = "BHSW", .long_names = kContainerValues, .operands = 1},
    {.name = "singularity", .word = "exec", .letters = "BHSW", .long_names = kContainerValues, .operands = 1},
    {.name = "srun", .letters = "ABcCdDeGiJLmMnNopqrStTwWx", .long_names = "*", .switches = kSrunSwitches},
};

bool HasName(std::string_view names, std::string_view name) {
  for (const absl::string_view each : absl::StrSplit(absl::string_view(names.data(), names.size()), ' ')) {
    if (name == std::string_view(each.data(), each.size())) return true;
  }
  return false;
}

// Returns how many words an option takes, with its value; 0 if the runner then starts no program.
size_t OptionSize(const Runner& runner, const std::string& word) {
  if (word == "--help" || word == "--version") return 0;
  if (runner.name == "command" && (word == "-v" || word == "-V")) return 0;
  if (absl::StartsWith(word, "--")) {
    if (absl::StrContains(word, "=")) return 1;
    const std::string name = word.substr(2);
    const bool has_value =
        runner.long_names == "*" ? !HasName(runner.switches, name) : HasName(runner.long_names, name);
    return has_value ? 2 : 1;
  }
  // In a word of several letters, only the last letter can take the next word as its value: -Eu NAME. For an earlier
  // one the rest of the word is the value: -n5.
  const size_t letter = word[0] == '-' ? word.find_first_of(std::string(runner.letters), 1) : std::string::npos;
  return letter != std::string::npos && letter + 1 == word.size() ? 2 : 1;
}

// Returns the index of the word after the subcommand and the options; words.size() if the runner starts nothing.
size_t SkipOptions(const Runner& runner, const Words& words) {
  const Words own = absl::StrSplit(absl::string_view(runner.word.data(), runner.word.size()), ' ', absl::SkipEmpty());
  size_t found = 0;
  for (size_t i = 1; i < words.size();) {
    const std::string& word = words[i];
    const bool is_module = runner.runs_python && (word == "-m" || word == "--module");
    if (found == own.size() && (is_module || word.empty())) return i;
    if (word == "--") return i + 1;
    if (word == "-" && runner.takes_assignments) {  // `env -` starts the program with an empty environment
      ++i;
    } else if (word.size() > 1 && word[0] == '-') {
      const size_t size = OptionSize(runner, word);
      if (size == 0) return words.size();
      i += size;
    } else if (runner.takes_assignments && IsAssignment(word)) {
      ++i;
    } else if (found < own.size()) {
      if (word != own[found++]) return words.size();
      ++i;
    } else {
      return i;
    }
  }
  return words.size();
}

Words From(const Words& words, size_t at) { return {words.begin() + static_cast<std::ptrdiff_t>(at), words.end()}; }

RunProgram ProgramOfShell(const Words& words) {
  for (size_t i = 1; i + 1 < words.size() && absl::StartsWith(words[i], "-"); ++i) {
    if (absl::StartsWith(words[i], "--")) continue;
    if (words[i] == "-o" || words[i] == "-O") {
      ++i;
    } else if (absl::StrContains(words[i], "c")) {
      return {{}, i + 1, i + 1};
    }
  }
  return {};
}

}  // namespace

bool IsShell(const std::string& name) {
  constexpr std::string_view kShells[] = {"sh", "bash", "dash", "zsh", "ksh", "ash"};
  return std::find(std::begin(kShells), std::end(kShells), name) != std::end(kShells);
}

size_t FileOfShell(const Words& words) {
  for (size_t i = 1; i < words.size(); ++i) {
    const std::string& word = words[i];
    if (word == "--" || word == "-") return i + 1 < words.size() ? i + 1 : 0;
    if (word.empty() || (word[0] != '-' && word[0] != '+')) return i;
    const bool is_short = !absl::StartsWith(word, "--");
    if (is_short && word.find_first_of("cs") != std::string::npos) return 0;
    const bool has_value =
        word == "-o" || word == "+o" || word == "-O" || word == "+O" || word == "--rcfile" || word == "--init-file";
    if (has_value) ++i;
  }
  return 0;
}

Words WithoutSplitString(Words words) {
  if (words.empty() || BaseName(words[0]) != "env") return words;
  for (size_t i = 1; i < words.size() && absl::StartsWith(words[i], "-") && words[i] != "--"; ++i) {
    const std::string& word = words[i];
    size_t text_at = std::string::npos;  // where the text begins in the word; word.size(): in the next word
    if (absl::StartsWith(word, "--split-string")) {
      text_at = std::min(word.find('=') + 1, word.size());
      if (text_at == 0) text_at = word.size();
    } else if (!absl::StartsWith(word, "--")) {
      const size_t letter = word.find_first_of("uCS", 1);
      if (letter != std::string::npos && word[letter] == 'S') text_at = letter + 1;
      if (letter + 1 == word.size() && word[letter] != 'S') ++i;  // the next word is the value of an option such as -u
    } else if (word == "--unset" || word == "--chdir") {
      ++i;
    }
    if (text_at == std::string::npos) continue;
    const size_t after = text_at == word.size() ? i + 2 : i + 1;
    if (after > words.size()) return words;
    Words split(words.begin(), words.begin() + static_cast<std::ptrdiff_t>(i));
    for (ShellCommand& part : ShellCommands(text_at == word.size() ? words[i + 1] : word.substr(text_at))) {
      std::move(part.assignments.begin(), part.assignments.end(), std::back_inserter(split));
      std::move(part.words.begin(), part.words.end(), std::back_inserter(split));
    }
    split.insert(split.end(), words.begin() + static_cast<std::ptrdiff_t>(after), words.end());
    return split;
  }
  return words;
}

RunProgram ProgramOfRunner(const Words& words) {
  if (words.empty()) return {};
  const std::string name = BaseName(words[0]);
  if (IsShell(name)) return ProgramOfShell(words);
  for (const Runner& runner : kRunners) {
    if (runner.name != name) continue;
    const size_t at = SkipOptions(runner, words) + runner.operands;
    if (at >= words.size()) continue;  // another row may have the same name
    RunProgram program{From(words, at), at, 0};
    if (!runner.runs_python) return program;
    std::string& first = program.words[0];
    if (first == "-m" || first == "--module") {
      first = "-m";
      program.words.insert(program.words.begin(), "python");
    } else if (absl::EndsWith(first, ".py")) {
      program.words.insert(program.words.begin(), "python");
    }
    return program;
  }
  return {};
}

}  // namespace muster
