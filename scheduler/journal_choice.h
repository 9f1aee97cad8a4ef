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

// Returns the first of these that applies:
//   1. --journal_path.
//   2. Memory, with --once, unless the settings switch recovery on.
//   3. Memory, with a notice, if the kernel chooses the port, or if no folder of the list below is known.
//   4. A file "journal-<port>.db", so that two schedulers of one user use different files. It is in the first of these
//      folders that is known:
//        MS_RECOVERY_PATH/scheduler
//        $STATE_DIRECTORY              if systemd sets it for a service
//        $XDG_STATE_HOME/muster
//        /var/lib/muster               for root
//        ~/.local/state/muster
JournalChoice ChooseJournal(const SchedulerSettings& settings, const std::map<std::string, std::string>& environment,
                            bool is_root);

// Opens the journal that ChooseJournal returns for this process, and logs the notice.
absl::StatusOr<std::unique_ptr<Journal>> OpenJournal(const SchedulerSettings& settings);

// Returns why the scheduler rejects new joins now, or an empty string if it accepts them. Any thread may call it.
std::string WhyFull(const Journal& journal);

// Returns "recovered 1 job with 2 runs ..." for the log; empty if the journal was empty.
std::string RecoveryText(const Journal& journal, const Recovered& recovered);

}  // namespace muster::scheduler
