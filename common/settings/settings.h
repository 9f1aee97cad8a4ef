// Settings: each is a flag, an environment variable and a line of a config file, in this order of precedence.
//
// A program lists its settings in a SettingsTable. Each is bound to a variable that holds its default, and LoadSettings
// fills in the given values. Every mistake becomes a message that names the setting, its source, the value, the rule
// and the remedy. LoadSettings reports all mistakes, not only the first. Not thread-safe; used in main only.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/time/time.h"

namespace muster {

// Errors, which keep a program from starting, and warnings, which it logs once.
struct SettingsFindings {
  std::vector<std::string> errors;
  std::vector<std::string> warnings;
};

struct LoadResult;

struct Setting {
  std::string flag;                        // "worker_num": --worker_num, --worker-num, --worker_num=8, and the config
                                           // key
  std::vector<std::string> aliases;        // other flags with the same meaning (torchrun's and msrun's words)
  std::vector<std::string> env;            // environment variables; the first one that is set counts
  std::string group;                       // the heading above it in --help
  std::string help;                        // what it does, in sentences; range and default are separate
  std::string value_name;                  // "N", "SECONDS", "HOST", …; empty for a switch (bool)
  std::string range_text;                  // for --help: "1 to 64"; empty if `value_name` or `help` says it
  std::string default_text;                // for --help; if empty, the value of the bound variable
  std::vector<std::string> commands = {};  // those of the program's commands that use it; empty: all
  bool is_common = false;                  // most people need it: --help shows it, too, not only --help-all
  bool is_repeated = false;
  bool is_hidden = false;   // not in --help-all
  bool is_ignored = false;  // belongs to another of our programs: accepted without a check, and has no effect
  // Turns a relative path into an absolute one, by the current folder, for display and for other processes.
  bool is_absolute = false;
  // Parses and stores a value. The error states only the rule ("must be a whole number from 1 to 65535").
  std::function<absl::Status(const std::string& value)> parse;
  std::function<std::string()> show;  // the value as --check_config shows it; empty: not set
  // Called after a good value, with its source ("--tail", "MS_TAIL", "muster.conf:3"). May be null.
  std::function<void(const std::string& value, const std::string& source)> on_set;

  bool is_switch() const { return value_name.empty(); }
  // True if the value is a path. A leading ~ in it is expanded: a shell does not do so in a file, a variable or
  // --flag=~/x.
  bool is_path() const { return value_name == "FILE" || value_name == "FOLDER" || value_name == "PATH"; }

  // For chaining after Add…: each changes one member of the setting that was added.
  Setting& Env(std::vector<std::string> names) { return env = std::move(names), *this; }
  Setting& Alias(std::vector<std::string> names) { return aliases = std::move(names), *this; }
  Setting& Value(std::string name) { return value_name = std::move(name), *this; }
  Setting& Range(std::string text) { return range_text = std::move(text), *this; }
  Setting& Default(std::string text) { return default_text = std::move(text), *this; }
  Setting& For(std::vector<std::string> names) { return commands = std::move(names), *this; }
  Setting& Common() { return is_common = true, *this; }
  Setting& Hide() { return is_hidden = true, *this; }
  Setting& Absolute() { return is_absolute = true, *this; }
};

// A line of --help about a command of the program, or with an example.
struct HelpLine {
  std::string group;  // heading
  std::string words;  // "logs [JOB] RANK"
  std::string help;
};

class SettingsTable {
 public:
  SettingsTable(std::string program, std::string usage, std::string summary)
      : program_(std::move(program)), usage_(std::move(usage)), summary_(std::move(summary)) {}

  // Add lines that are only for --help: a command with its arguments, or an example to type.
  void AddCommand(HelpLine line) { commands_.push_back(std::move(line)); }
  void AddExample(std::string line, std::string what) { examples_.push_back({"", std::move(line), std::move(what)}); }

  // Starts a group: the settings that are added next belong to it.
  void BeginGroup(std::string group) { group_ = std::move(group); }

  // Add a setting of one type. Each returns the setting so that the caller can change it; the reference is valid until
  // the next setting is added.
  Setting& AddString(std::string flag, std::string* value, std::string help);
  Setting& AddStrings(std::string flag, std::vector<std::string>* values,
                      std::string help);                              // may be given several times
  Setting& AddBool(std::string flag, bool* value, std::string help);  // a switch; may have 0, 1, true, false, yes or no
  Setting& AddOptionalBool(std::string flag, std::optional<bool>* value, std::string help);
  Setting& AddUint(std::string flag, uint32_t* value, uint32_t low, uint32_t high, std::string help);
  Setting& AddOptionalUint(std::string flag, std::optional<uint32_t>* value, uint32_t low, uint32_t high,
                           std::string help);
  Setting& AddPort(std::string flag, uint16_t* value, std::string help);  // 0 or 1024..65535
  // Adds a duration in seconds, with a decimal fraction ("0.5"), or as "500ms", "10s", "5m", "2h". `allows_forever`: a
  // negative value means InfiniteDuration.
  Setting& AddSeconds(std::string flag, absl::Duration* value, absl::Duration low, absl::Duration high,
                      std::string help);
  Setting& AddOptionalSeconds(std::string flag, std::optional<absl::Duration>* value, absl::Duration low,
                              absl::Duration high, bool allows_forever, std::string help);
  Setting& AddChoice(std::string flag, std::string* value, std::vector<std::string> choices, std::string help);
  Setting& Add(Setting setting);

  // Adds a setting of another program that reads the same config file or environment. It is a switch if `value_name` is
  // empty.
  Setting& AddIgnored(std::string flag, std::string value_name, std::vector<std::string> env);

  // Forbids a flag or config key. Using it is an error with the text `why`, which names the remedy; {value} in it
  // stands for the given value.
  void Forbid(std::string flag, std::string why);

  // Adds a rule that runs once all settings have their values, and settles several of them together. It may add
  // findings and change sources.
  void AtEnd(std::function<void(LoadResult& result)> rule) { at_end_.push_back(std::move(rule)); }

  const std::string& program() const { return program_; }
  const std::string& usage() const { return usage_; }
  const std::string& summary() const { return summary_; }
  const std::vector<HelpLine>& commands() const { return commands_; }
  const std::vector<HelpLine>& examples() const { return examples_; }
  const std::vector<Setting>& settings() const { return settings_; }
  const std::map<std::string, std::string>& forbidden() const { return forbidden_; }
  const std::vector<std::function<void(LoadResult&)>>& rules_at_end() const { return at_end_; }

 private:
  std::string program_, usage_, summary_;
  std::vector<HelpLine> commands_, examples_;
  std::string group_ = "Other";
  std::vector<Setting> settings_;
  std::map<std::string, std::string> forbidden_;
  std::vector<std::function<void(LoadResult&)>> at_end_;
};

struct LoadResult {
  SettingsFindings findings;
  bool wants_help = false;                     // --help, -h, --help-all
  bool wants_all_help = false;                 // --help-all
  bool wants_version = false;                  // --version
  std::vector<std::string> positional;         // words that are neither flags nor come after "--"
  std::vector<std::string> command;            // the words after "--"
  std::map<std::string, std::string> sources;  // flag → "--worker_num", "MS_WORKER_NUM", "muster.conf:3", "default"
};

// Loads all settings of `table`. `args` are the arguments without the program's name; `environment` is NAME → value.
//
// The flag --config names the config file; there is no default one. Its lines are `key = value`, where the key is a
// flag or one of its variables, and # starts a comment. An empty variable counts as not set. An unknown MS_* variable
// is no error. If it is a near miss of a known one (1 letter off, or 2 for names of 8 letters and more), it is a
// warning.
//
// Only the value that counts is checked: a flag overrides a bad variable. If a flag is given twice, the last one
// counts. A switch takes the next word as its value if the word is 0 or 1; also true, false, yes or no if the word
// can't be the command. `first_word_is_command` (ms-worker): the first word that is no flag, or is -m, begins the
// command even without "--".
LoadResult LoadSettings(SettingsTable& table, const std::vector<std::string>& args,
                        const std::map<std::string, std::string>& environment, bool first_word_is_command = false);

// Returns this process's environment.
std::map<std::string, std::string> ProcessEnvironment();

// Returns the text of --help: commands, examples, and the settings marked as common, in groups, with range, default and
// variables. If no setting is marked as common, returns the text of --help-all.
std::string HelpText(const SettingsTable& table);
// Returns the text of --help-all: the same with all settings.
std::string FullHelpText(const SettingsTable& table);

// Returns a table with the name, value and source of each setting.
std::string ShowSettings(const SettingsTable& table, const LoadResult& result);

// A step of the timeout hierarchy. ShowTimeouts prints the steps as a table.
struct TimeoutStep {
  std::string name;  // name of a setting, or "heartbeat"
  absl::Duration value;
  std::string meaning;
};
std::string ShowTimeouts(const std::vector<TimeoutStep>& steps);

// Returns "600 s", "1.5 s", "250 ms", "for ever".
std::string ShowDuration(absl::Duration duration);

}  // namespace muster
