// Settings: each is a flag, an environment variable and a line of a config file, in this order of precedence.
//
// A program lists its settings in a SettingsTable, each bound to a variable that holds its default; Load fills the
// variables in. Every mistake becomes a message that names the setting, where it was set, the value, the rule and the
// remedy; all of them are gathered, none stops the others from being found. Not thread-safe; used in main only.
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

// What is wrong (nothing may start) and what is doubtful (said once, then the program goes on).
struct SettingsFindings {
  std::vector<std::string> errors;
  std::vector<std::string> warnings;
};

struct LoadResult;

struct Setting {
  std::string flag;                  // "worker_num": --worker_num, --worker-num, --worker_num=8; config key
  std::vector<std::string> aliases;  // other flags that mean the same (torchrun's and msrun's words)
  std::vector<std::string> env;      // environment variables, the first that is set wins
  std::string group;                 // heading in --help
  std::string help;                  // one sentence
  std::string value_name;            // "N", "SECONDS", "HOST", …; empty for a switch (bool)
  std::string default_text;          // for --help; taken from the variable when empty
  bool is_repeated = false;
  bool is_hidden = false;   // not in --help
  bool is_ignored = false;  // belongs to another program of ours: accepted, never judged, no effect
  // A relative path is one from the present folder, and is shown and handed to other processes from the root on.
  bool is_absolute = false;
  // Parses and stores; the error says the rule only ("must be a whole number from 1 to 65535").
  std::function<absl::Status(const std::string& value)> parse;
  std::function<std::string()> show;  // the settled value for --check_config; empty: not set
  // Told the value and where it was set ("--tail", "MS_TAIL", "muster.conf:3") when it was good. May be null.
  std::function<void(const std::string& value, const std::string& source)> on_set;

  bool is_switch() const { return value_name.empty(); }
  // ~ at its beginning stands for a home folder: no shell has read what a file, a variable or --flag=~/x says.
  bool is_path() const { return value_name == "FILE" || value_name == "FOLDER" || value_name == "PATH"; }

  // For tables: decorate what Add… returned.
  Setting& Env(std::vector<std::string> names) { return env = std::move(names), *this; }
  Setting& Alias(std::vector<std::string> names) { return aliases = std::move(names), *this; }
  Setting& Value(std::string name) { return value_name = std::move(name), *this; }
  Setting& Default(std::string text) { return default_text = std::move(text), *this; }
  Setting& Hide() { return is_hidden = true, *this; }
  Setting& Absolute() { return is_absolute = true, *this; }
};

class SettingsTable {
 public:
  SettingsTable(std::string program, std::string usage, std::string summary)
      : program_(std::move(program)), usage_(std::move(usage)), summary_(std::move(summary)) {}

  // The group of the settings that are added from now on.
  void BeginGroup(std::string group) { group_ = std::move(group); }

  // Typed helpers; each returns the setting for further decoration, valid until the next one is added.
  Setting& AddString(std::string flag, std::string* value, std::string help);
  Setting& AddStrings(std::string flag, std::vector<std::string>* values, std::string help);  // repeated flag
  Setting& AddBool(std::string flag, bool* value, std::string help);  // --x, --x=0|1|true|false|yes|no
  Setting& AddOptionalBool(std::string flag, std::optional<bool>* value, std::string help);
  Setting& AddUint(std::string flag, uint32_t* value, uint32_t low, uint32_t high, std::string help);
  Setting& AddOptionalUint(std::string flag, std::optional<uint32_t>* value, uint32_t low, uint32_t high,
                           std::string help);
  Setting& AddPort(std::string flag, uint16_t* value, std::string help);  // 0 or 1024..65535
  // Seconds, a decimal fraction allowed ("0.5"), also "500ms", "10s", "5m", "2h". `allows_forever`: negative means
  // InfiniteDuration.
  Setting& AddSeconds(std::string flag, absl::Duration* value, absl::Duration low, absl::Duration high,
                      std::string help);
  Setting& AddOptionalSeconds(std::string flag, std::optional<absl::Duration>* value, absl::Duration low,
                              absl::Duration high, bool allows_forever, std::string help);
  Setting& AddChoice(std::string flag, std::string* value, std::vector<std::string> choices, std::string help);
  Setting& Add(Setting setting);

  // A setting of another program that shares the config file or the environment with this one. A switch if `value_name`
  // is empty.
  Setting& AddIgnored(std::string flag, std::string value_name, std::vector<std::string> env);

  // A flag or config key that must not be used; the error is `why`. It names the remedy, in which {value} stands for
  // what was given.
  void Forbid(std::string flag, std::string why);

  // A rule that settles several settings together, once all have their values. May add findings and change sources.
  void AtEnd(std::function<void(LoadResult& result)> rule) { at_end_.push_back(std::move(rule)); }

  const std::string& program() const { return program_; }
  const std::string& usage() const { return usage_; }
  const std::string& summary() const { return summary_; }
  const std::vector<Setting>& settings() const { return settings_; }
  const std::map<std::string, std::string>& forbidden() const { return forbidden_; }
  const std::vector<std::function<void(LoadResult&)>>& rules_at_end() const { return at_end_; }

 private:
  std::string program_, usage_, summary_;
  std::string group_ = "Other";
  std::vector<Setting> settings_;
  std::map<std::string, std::string> forbidden_;
  std::vector<std::function<void(LoadResult&)>> at_end_;
};

struct LoadResult {
  SettingsFindings findings;
  bool wants_help = false;                     // --help, -h
  bool wants_version = false;                  // --version
  std::vector<std::string> positional;         // what is neither a flag nor behind "--"
  std::vector<std::string> command;            // what stands behind "--"
  std::map<std::string, std::string> sources;  // flag → "--worker_num", "MS_WORKER_NUM", "muster.conf:3", "default"
};

// `args` without the program's name. The config file is named by --config (there is no default one); its lines are
// `key = value`, `#` starts a comment, a key is a flag or one of its variables. `environment` is NAME → value; a
// variable that is empty counts as not set. Unknown MS_* variables are not errors; one that is a near miss of a known
// one (edit distance 1, or 2 for names of 8 letters and more) is a warning. Only the value that wins is judged: a flag
// mends a bad variable. Of a flag given twice the last counts. A switch takes the next word as its value if that is 0
// or 1, or (where that word can't be the command) true, false, yes or no. `first_word_is_command`: a first word that is
// no flag, or is -m, begins the command even without "--" (ms-worker).
LoadResult LoadSettings(SettingsTable& table, const std::vector<std::string>& args,
                        const std::map<std::string, std::string>& environment, bool first_word_is_command = false);

// This process's environment.
std::map<std::string, std::string> ProcessEnvironment();

// Grouped and explained, with defaults and variables.
std::string HelpText(const SettingsTable& table);

// A table of name, settled value, source.
std::string ShowSettings(const SettingsTable& table, const LoadResult& result);

// The timeout hierarchy: name, value, what it must be below; prints as a table, checks as findings.
struct TimeoutStep {
  std::string name;  // setting or "heartbeat"
  absl::Duration value;
  std::string meaning;
};
std::string ShowTimeouts(const std::vector<TimeoutStep>& steps);

// "600 s", "1.5 s", "250 ms", "for ever".
std::string ShowDuration(absl::Duration duration);

}  // namespace muster
