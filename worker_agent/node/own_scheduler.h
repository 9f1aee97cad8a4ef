// The scheduler that an agent becomes (MS_ROLE=MS_SCHED) or starts (--with_scheduler, --standalone).
#pragma once

#include <sys/types.h>

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "common/base/exit_status.h"
#include "common/base/unique_fd.h"
#include "common/net/ip_address.h"
#include "common/tls/tls_settings.h"
#include "worker_agent/launch/port_reservation.h"
#include "worker_agent/settings/agent_settings.h"

namespace muster::agent {

// This program's own path.
std::string OwnProgram();

// Returns ms-scheduler beside this program, else the one in PATH.
std::string SchedulerProgram();

// Returns the flags of an agent's command line: the words before the command.
std::vector<std::string> FlagsOf(const std::vector<std::string>& args, const std::vector<std::string>& command);

// Replaces this process by `ms-scheduler --once` with the same flags. Returns only if that fails: the exit code.
int BecomeScheduler(const std::vector<std::string>& flags);

// A scheduler that lives and ends with its agent.
class OwnScheduler {
 public:
  // --standalone: always, on 127.0.0.1 and sched_port; 0: a free one, which is written into `settings`.
  // --with_scheduler: when sched_host, which has the `addresses`, is this machine and nothing listens there; of several
  // agents of one machine one starts it. Null when none is to be started here. `lock_base`: see
  // WorkFolder::DefaultBase. To be called by the main thread.
  static absl::StatusOr<std::unique_ptr<OwnScheduler>> StartIfWanted(AgentSettings& settings,
                                                                     const std::vector<IpAddress>& addresses,
                                                                     const std::string& lock_base);

  // Ends it if it has not ended.
  ~OwnScheduler();
  OwnScheduler(const OwnScheduler&) = delete;
  OwnScheduler& operator=(const OwnScheduler&) = delete;

  pid_t pid() const { return pid_; }
  bool HasEnded();
  // Polls readable once it has ended; -1: it has ended, or the kernel has no such descriptor.
  int fd() const { return pidfd_.get(); }

  // Returns how the scheduler was lost, once, if it was killed and its journal was in memory. If it was killed and its
  // journal is a file, starts another one, at most three times, and logs that. One that ends by itself reports why, to
  // its agents or in its log. To be called often, by the thread that started it.
  std::optional<std::string> TakeLoss();

  // Waits, at most 5 s, until the scheduler listens, so that the first dial finds it, or has ended. Call it once.
  // INTERNAL if the scheduler has ended and nothing else listens there: waiting longer would be useless.
  absl::Status WaitUntilItListens(const AgentSettings& settings);

  // Waits for its end, at most `patience`, or until `is_hurried` says so: it ends by itself when all its agents know
  // how the job ended. With `restarts` it is started again meanwhile, as TakeLoss does.
  void WaitForEnd(absl::Duration patience, bool restarts, const std::function<bool()>& is_hurried);

 private:
  OwnScheduler(std::vector<std::string> argv, bool has_journal_file, UniqueFd lock, std::optional<ReservedPort> port)
      : argv_(std::move(argv)), has_journal_file_(has_journal_file), lock_(std::move(lock)), port_(std::move(port)) {}
  absl::Status Start();

  const std::vector<std::string> argv_;
  const bool has_journal_file_;
  const bool has_password_variable_ = IsPasswordInEnvironment();  // which the agent wipes after the start
  pid_t pid_ = 0;
  UniqueFd pidfd_;
  const UniqueFd lock_;  // so that no other agent of this user starts one
  std::optional<ReservedPort>
      port_;  // --standalone: no one else gets it before the child, which binds with SO_REUSEADDR, has it
  bool has_ended_ = false;
  ExitStatus exit_;  // once it has ended
  bool is_end_handled_ = false;
  int restarts_ = 0;
};

// Returns the flags for a scheduler that this agent starts.
std::vector<std::string> OwnSchedulerFlags(const AgentSettings& settings);

// True if a scheduler that is started with these flags keeps its journal in a file, as ms-scheduler decides it.
// MS_JOURNAL_PATH, which it inherits, counts after its flags.
bool HasJournalFile(const std::vector<std::string>& flags, absl::string_view path_of_environment);

}  // namespace muster::agent
