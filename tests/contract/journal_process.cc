#include "tests/contract/journal_process.h"

#include <sys/wait.h>
#include <unistd.h>

#include "absl/strings/strip.h"
#include "scheduler/journal/sqlite_journal.h"
#include "tests/contract/journal_testing.h"

namespace muster::scheduler {

int InAnotherProcess(const std::function<int()>& life) {
  const pid_t pid = fork();
  if (pid == 0) _exit(life());
  int status = 0;
  if (pid < 0 || waitpid(pid, &status, 0) != pid) return -1;
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

bool WriteAndDie(const std::string& path, const std::vector<std::string>& names) {
  return InAnotherProcess([&] {
           auto journal = SqliteJournal::Open(path);
           if (!journal.ok()) return 1;
           DurableWatch watch;
           watch.Attach(**journal);
           for (const std::string& name : names) {
             absl::string_view snapshot = name;
             if (absl::ConsumePrefix(&snapshot, "snapshot ")) {
               (*journal)->AppendSnapshot(SnapshotOf(std::string(snapshot)));
             } else if (!watch.WaitFor((*journal)->Append({RecordOf(name)}))) {
               return 2;
             }
           }
           journal->release();
           return 0;
         }) == 0;
}

}  // namespace muster::scheduler
