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
  std::string argument;            // the first, without the job's name; empty: none was given
  std::vector<std::string> words;  // all of them
  // The way to the scheduler, open before a handler that asks it.
  std::shared_ptr<TlsStore> tls;  // null: without TLS
  std::unique_ptr<AdminClient> client;
};

struct Command {
  std::string name;
  std::string argument;  // "[JOB]", which settings.job_id takes in; empty: none; with a blank between two
  std::string help;
  int (*run)(Call& call);  // returns the exit code
};

// All that `ms-ctl` can be asked, in the order of --help, each with what carries it out.
const std::vector<Command>& Commands();

// Carries out `words` (a command and its arguments), prints to stdout, errors to stderr. Returns the exit code: 0 done,
// 1 refused (or, for watch, the job failed), 2 wrong usage, 10 the scheduler can't be reached, 14 lost while watching.
int RunCommand(std::vector<std::string> words, CtlSettings settings, const SettingsTable& table);

}  // namespace muster::ctl
