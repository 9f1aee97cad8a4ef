// Chooses the journal from the settings.
#pragma once

#include <map>
#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "scheduler/journal/journal.h"
#include "scheduler/loop/loop.h"
#include "scheduler/scheduler_settings.h"

namespace muster::scheduler {

struct JournalChoice {
  std::string path;    // empty: memory
  std::string notice;  // a warning; empty: nothing surprising
};

// --journal_path; else memory for --once unless the settings switch recovery on; else a file "journal-<port>.db", so
// that two schedulers of one user don't meet, in
//   MS_RECOVERY_PATH/scheduler
//   $STATE_DIRECTORY              systemd's, for a service
//   $XDG_STATE_HOME/muster
//   /var/lib/muster               root
//   ~/.local/state/muster
// and memory, with a notice, when the port is the kernel's choice or there is no such folder.
JournalChoice ChooseJournal(const SchedulerSettings& settings, const std::map<std::string, std::string>& environment,
                            bool is_root);

// Opens the chosen journal for this process. Logs the notice.
absl::StatusOr<std::unique_ptr<Journal>> OpenJournal(const SchedulerSettings& settings);

// Returns why new joins are rejected now; empty: they are not. Any thread.
std::string WhyFull(const Journal& journal);

// Returns "recovered 1 job with 2 runs ..." for the log; empty if the journal was empty.
std::string RecoveryText(const Journal& journal, const Recovered& recovered);

}  // namespace muster::scheduler
