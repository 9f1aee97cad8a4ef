// Which journal the settings ask for.
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

// The chosen one for this process, opened. Logs the notice.
absl::StatusOr<std::unique_ptr<Journal>> OpenJournal(const SchedulerSettings& settings);

// Why new joins are turned away at the moment; empty: they are not. Any thread.
std::string WhyFull(const Journal& journal);

// "recovered 1 job with 2 runs ..." for the log; empty when the journal was empty.
std::string RecoveryText(const Journal& journal, const Recovered& recovered);

}  // namespace muster::scheduler
