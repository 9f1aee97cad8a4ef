#include "worker_agent/keeper/process/last_report.h"

#include <fcntl.h>
#include <sys/resource.h>
#include <unistd.h>

#include <csignal>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "common/sys/child/child.h"
#include "worker_agent/keeper/process/spawn.h"

namespace muster::agent {
namespace {

constexpr absl::Duration kPatience = absl::Seconds(10);

}  // namespace

std::vector<std::string> FillLastReport(const std::vector<std::string>& argv, const ExitStatus& fate) {
  std::vector<std::string> filled;
  filled.reserve(argv.size());
  for (const std::string& word : argv) {
    filled.push_back(
        absl::StrReplaceAll(word, {{"{signal}", absl::StrCat(fate.signal)}, {"{exit_code}", absl::StrCat(fate.code)}}));
  }
  return filled;
}

void RunLastReport(const LastReportCommand& command, const ExitStatus& fate) {
  if (command.argv.empty()) return;
  const int null_fd = ::open("/dev/null", O_RDWR | O_CLOEXEC);
  for (int fd = 0; fd <= 2 && null_fd >= 0; ++fd) ::dup2(null_fd, fd);

  ProcessSpec spec;
  spec.argv = FillLastReport(command.argv, fate);
  spec.env = command.env;
  spec.hand_over = command.hand_over;
  rlimit open_files{};
  ::getrlimit(RLIMIT_NOFILE, &open_files);
  const absl::StatusOr<Spawned> spawned = SpawnProcess(spec, 1, 2, open_files);
  if (!spawned.ok()) return;
  if (AwaitChild(spawned->pid, kPatience) == ChildState::kRuns) ::kill(-spawned->pid, SIGKILL);
  ReapChild(spawned->pid);
}

}  // namespace muster::agent
