// The completions for fish and zsh, which show what a word means beside it.
#pragma once

#include <string>
#include <vector>

#include "common/settings/settings.h"

namespace muster::ctl {

// What a setting's value is completed with.
struct CompletedValue {
  enum Kind { kSwitch, kFile, kHost, kWords, kOther };
  Kind kind = kOther;
  std::vector<std::string> words = {};  // kWords
};
CompletedValue CompletedValueOf(const Setting& setting);

// A word that may stand there, and what it means.
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

// For `ms-ctl completion fish | source`, or a file in fish's completions folder.
std::string FishCompletion(const CompletionTables& tables);
// For `source <(ms-ctl completion zsh)` behind compinit, or a file _ms-ctl in $fpath.
std::string ZshCompletion(const CompletionTables& tables);

}  // namespace muster::ctl
