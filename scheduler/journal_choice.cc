#include "scheduler/journal_choice.h"

#include <unistd.h>

#include "absl/strings/str_cat.h"
#include "common/settings/settings.h"
#include "common/sys/log.h"
#include "common/sys/runtime_paths.h"
#include "scheduler/journal/memory_journal.h"
#include "scheduler/journal/sqlite_journal.h"

namespace muster::scheduler {
JournalChoice ChooseJournal(const SchedulerSettings& settings, const std::map<std::string, std::string>& environment,
                            bool is_root) {
  if (settings.journal_path == kMemoryJournal) return {};
  if (!settings.journal_path.empty()) return {settings.journal_path, ""};
  if (settings.once && !settings.enable_recovery.value_or(false)) return {};
  const std::string forgets = "this scheduler forgets all jobs when it ends: ";
  if (settings.sched_port == 0) {
    return {"", forgets +
                    "with a port of the kernel's choice the journal is in memory; name a file with --journal_path, or "
                    "set --journal_path memory to accept this"};
  }
  const std::string folder =
      settings.recovery_path.empty() ? UserStateFolder(environment, is_root) : settings.recovery_path + "/scheduler";
  if (folder.empty()) {
    return {"", forgets +
                    "neither STATE_DIRECTORY, XDG_STATE_HOME nor HOME names a folder for the journal; name a file with "
                    "--journal_path, or set --journal_path memory to accept this"};
  }
  return {absl::StrCat(folder, "/journal-", settings.sched_port, ".db"), ""};
}

absl::StatusOr<std::unique_ptr<Journal>> OpenJournal(const SchedulerSettings& settings) {
  const JournalChoice choice = ChooseJournal(settings, ProcessEnvironment(), geteuid() == 0);
  if (!choice.notice.empty()) Log(Severity::kWarning, choice.notice);
  if (choice.path.empty()) return std::make_unique<MemoryJournal>();
  return SqliteJournal::Open(choice.path);
}

std::string WhyFull(const Journal& journal) {
  if (!journal.IsStalled()) return "";
  return "the disk under the scheduler's journal is full; the scheduler goes on by itself once there is room";
}

std::string RecoveryText(const Journal& journal, const Recovered& recovered) {
  if (recovered.records == 0) return "";
  const auto count = [](uint64_t number, const std::string& noun) {
    return absl::StrCat(number, " ", noun, number == 1 ? "" : "s");
  };
  return absl::StrCat("recovered ", count(recovered.jobs, "job"), " with ", count(recovered.runs, "run"), " from ",
                      count(recovered.records, "record"), " of ", journal.Describe(), " in ",
                      absl::ToInt64Milliseconds(recovered.took), " ms");
}

}  // namespace muster::scheduler
