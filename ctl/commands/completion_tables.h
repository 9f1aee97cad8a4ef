// The completions for fish and zsh, which show each word with its meaning.
#pragma once

#include <string>
#include <vector>

#include "common/settings/settings.h"

namespace muster::ctl {

// The completion of a setting's value.
struct CompletedValue {
  enum Kind { kSwitch, kFile, kHost, kWords, kOther };
  Kind kind = kOther;
  std::vector<std::string> words = {};  // kWords
};
CompletedValue CompletedValueOf(const Setting& setting);

// A word to offer, and its meaning.
struct Offer {
  std::string name;
  std::string help;
  bool takes_job = false;   // a job's name may follow
  bool takes_node = false;  // a node's
};

struct CompletionTables {
  std::vector<Offer> commands;                 // of ms-ctl
  std::vector<Offer> certs_commands;           // of ms-ctl certs
  std::vector<const SettingsTable*> programs;  // ms-ctl, ms-worker, ms-scheduler: by their program()
};

// Returns a script for `ms-ctl completion fish | source`, or for a file in fish's completions folder.
std::string FishCompletion(const CompletionTables& tables);
// Returns a script for `source <(ms-ctl completion zsh)` after compinit, or for a file _ms-ctl in $fpath.
std::string ZshCompletion(const CompletionTables& tables);

}  // namespace muster::ctl
