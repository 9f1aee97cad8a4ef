// The completions for fish and zsh. They show each word with an explanation.
#pragma once

#include <string>
#include <vector>

#include "common/settings/settings.h"

namespace muster::ctl {

// The values that the shell offers for a setting.
struct CompletedValue {
  enum Kind { kSwitch, kFile, kHost, kWords, kOther };
  Kind kind = kOther;
  std::vector<std::string> words = {};  // with kWords: the possible values
};
CompletedValue CompletedValueOf(const Setting& setting);

// A word to offer, and its explanation.
struct Offer {
  std::string name;
  std::string help;
  bool takes_job = false;   // a job's name may follow
  bool takes_node = false;  // a node's id may follow
};

struct CompletionTables {
  std::vector<Offer> commands;                 // the commands of ms-ctl
  std::vector<Offer> certs_commands;           // the commands of ms-ctl certs
  std::vector<const SettingsTable*> programs;  // the settings of ms-ctl, ms-worker and ms-scheduler
};

// Returns the script for fish. Load it with `ms-ctl completion fish | source`, or put it into fish's completions
// folder.
std::string FishCompletion(const CompletionTables& tables);
// Returns the script for zsh. Load it after compinit with `source <(ms-ctl completion zsh)`, or put it into a file
// _ms-ctl in $fpath.
std::string ZshCompletion(const CompletionTables& tables);

}  // namespace muster::ctl
