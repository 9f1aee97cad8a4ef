// The table of ms-ctl's commands.
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

// One call of ms-ctl: what a command's handler gets.
struct Call {
  CtlSettings& settings;
  const SettingsTable& table;
  const Command& command;
  std::string argument;            // the first argument after the job's name was removed; empty: there is none
  std::vector<std::string> words;  // all arguments after the job's name was removed
  // The connection to the scheduler. AskTrustedWith sets both before it runs a handler.
  std::shared_ptr<TlsStore> tls;  // null: without TLS
  std::unique_ptr<AdminClient> client;
};

inline constexpr char kWithoutScheduler[] = "Without a scheduler";  // the group of commands that ask no scheduler

struct Command {
  std::string name;
  std::string argument;  // "", "[JOB]", "NODE", "[JOB] NODE", …; RunCommand puts the job's name into settings.job_id
  std::string help;      // one sentence of at most 80 characters
  int (*run)(Call& call);  // returns the exit code
  // The next two are shown only by `ms-ctl help NAME`.
  std::string more = {};  // further sentences
  std::vector<std::string> examples = {};

  std::string group = {};  // the heading in --help; Commands() sets it

  std::string Words() const { return argument.empty() ? name : name + " " + argument; }
};

// All commands of `ms-ctl` with their handlers, in the order of --help.
const std::vector<Command>& Commands();

// Returns null if there is no such command.
const Command* FindCommand(const std::string& name);

// Returns the error for a word that is no command. It suggests the most similar command.
std::string UnknownCommand(const std::string& word);

// Runs a command. `words`: its name and its arguments. Prints to stdout, and errors to stderr. Returns the exit code:
// 0 done, 1 refused or failed (for watch: the job failed), 2 wrong usage, 10 the scheduler can't be reached, 14 the
// scheduler was lost while watching, 15 a certificate or a permission is wrong.
int RunCommand(std::vector<std::string> words, CtlSettings settings, const SettingsTable& table);

}  // namespace muster::ctl
