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

struct Command {
  std::string name;
  std::string argument;  // "[JOB]", which settings.job_id receives; empty: none; separated by a blank if there are two
  std::string help;
  int (*run)(Call& call);  // returns the exit code
};

// All commands of `ms-ctl` with their handlers, in the order of --help.
const std::vector<Command>& Commands();

// Runs `words` (a command and its arguments); prints to stdout, errors to stderr. Returns the exit code: 0 done, 1
// refused (or, for watch, the job failed), 2 wrong usage, 10 the scheduler can't be reached, 14 lost while watching.
int RunCommand(std::vector<std::string> words, CtlSettings settings, const SettingsTable& table);

}  // namespace muster::ctl
