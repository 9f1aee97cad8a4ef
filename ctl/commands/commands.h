// The commands of ms-ctl.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "common/settings/settings.h"
#include "common/tls/tls_store.h"
#include "ctl/admin_client.h"
#include "ctl/commands/ctl_settings.h"

namespace muster::ctl {

struct Command;

// One call of ms-ctl.
struct Call {
  const CtlSettings& settings;
  const SettingsTable& table;
  const Command& command;
  std::string argument;            // the first without the job's name; empty: none was given
  std::vector<std::string> words;  // all of them
  // The way to the scheduler, opened before a handler that needs it.
  std::shared_ptr<TlsStore> tls;  // null: without TLS
  std::unique_ptr<AdminClient> client;
};

inline constexpr char kWithoutScheduler[] = "Without a scheduler";  // the group of commands that ask no scheduler

struct Command {
  std::string name;
  std::string argument;  // "[JOB]", which settings.job_id receives; empty: none; separated by a blank if there are two
  std::string help;      // one sentence of at most 80 characters
  int (*run)(Call& call);  // returns the exit code
  // `ms-ctl help NAME` shows these, too.
  std::string more = {};  // further sentences
  std::vector<std::string> examples = {};

  std::string group = {};  // heading in --help; Commands() fills it in

  std::string Words() const { return argument.empty() ? name : name + " " + argument; }
};

// All commands of `ms-ctl` with their handlers, in the order of --help.
const std::vector<Command>& Commands();

// Returns null if there is no such command.
const Command* FindCommand(const std::string& name);

// Returns the error for a word that is no command; it names the nearest one.
std::string UnknownCommand(const std::string& word);

// Runs `words` (a command and its arguments); prints to stdout, errors to stderr. Returns the exit code: 0 done, 1
// refused (or, for watch, the job failed), 2 wrong usage, 10 the scheduler can't be reached, 14 lost while watching.
int RunCommand(std::vector<std::string> words, CtlSettings settings, const SettingsTable& table);

}  // namespace muster::ctl
