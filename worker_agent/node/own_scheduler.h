// Starts ms-scheduler: in place of this process (MS_ROLE=MS_SCHED), or as its child (--with_scheduler, --standalone).
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
#include "worker_agent/node/own_page.h"
#include "worker_agent/settings/agent_settings.h"

namespace muster::agent {

// Returns this program's own path.
std::string OwnProgram();

// Returns the path of ms-scheduler in this program's folder; if it has none, the name, which is then looked up in PATH.
std::string SchedulerProgram();

// Returns the flags of an agent's command line: the words before the command.
std::vector<std::string> FlagsOf(const std::vector<std::string>& args, const std::vector<std::string>& command);

// Replaces this process by `ms-scheduler --once` with the same flags. If that fails, prints why and returns the exit
// code.
int BecomeScheduler(const std::vector<std::string>& flags);

// A scheduler that this agent has started, and that ends no later than the agent.
class OwnScheduler {
 public:
  // Starts a scheduler if the settings want one here; returns null if not. The main thread must call it.
  // With --standalone, always starts one, on 127.0.0.1 and sched_port (0: on a free port, which is stored in
  // `settings`). With --with_scheduler, starts one if sched_host is this machine and nothing listens there; of several
  // agents of a machine, only one does. `addresses`: those of sched_host. `lock_base`: see WorkFolder::DefaultBase.
  static absl::StatusOr<std::unique_ptr<OwnScheduler>> StartIfWanted(AgentSettings& settings,
                                                                     const std::vector<IpAddress>& addresses,
                                                                     const std::string& lock_base);

  // Ends the scheduler if it still runs.
  ~OwnScheduler();
  OwnScheduler(const OwnScheduler&) = delete;
  OwnScheduler& operator=(const OwnScheduler&) = delete;

  pid_t pid() const { return pid_; }
  bool HasEnded();
  // A descriptor that becomes readable when the scheduler ends; -1: it has ended, or the kernel has no pidfd.
  int fd() const { return pidfd_.get(); }

  // Checks whether the scheduler was killed by a signal. If its journal is a file, starts it again, at most three
  // times, and logs that. If its journal was in memory, returns once a text that says how the scheduler was lost. A
  // scheduler that no signal has ended reports the reason itself, to its agents or in its log. Call it often, from the
  // thread that started the scheduler.
  std::optional<std::string> TakeLoss();

  // Waits until the scheduler listens, so that the agent's first attempt to connect succeeds; at most 5 s. INTERNAL:
  // the scheduler has ended, and nothing else listens on its port. Call it once.
  absl::Status WaitUntilItListens(const AgentSettings& settings);

  // Waits for the scheduler's end, at most `patience`, or until `is_hurried` returns true. (The scheduler ends by
  // itself when all its agents know how the job has ended.) With `restarts`, starts it again if it is killed, as in
  // TakeLoss.
  void WaitForEnd(absl::Duration patience, bool restarts, const std::function<bool()>& is_hurried);

 private:
  OwnScheduler(std::vector<std::string> argv, bool has_journal_file, UniqueFd lock, std::optional<ReservedPort> port,
               std::optional<OwnPage> page)
      : argv_(std::move(argv)),
        has_journal_file_(has_journal_file),
        lock_(std::move(lock)),
        port_(std::move(port)),
        page_(std::move(page)) {}
  absl::Status Start();

  const std::vector<std::string> argv_;
  const bool has_journal_file_;
  const bool has_password_variable_ = IsPasswordInEnvironment();  // at the first start; the agent wipes it later
  pid_t pid_ = 0;
  UniqueFd pidfd_;
  const UniqueFd lock_;  // keeps other agents of this user from starting a second scheduler
  // --standalone: reserves the port until the child, which binds it with SO_REUSEADDR, listens on it.
  std::optional<ReservedPort> port_;
  std::optional<OwnPage> page_;  // nullopt: the user has decided about the page
  bool has_ended_ = false;
  ExitStatus exit_;  // set once it has ended
  bool is_end_handled_ = false;
  int restarts_ = 0;
};

// Returns the command-line flags for a scheduler that this agent starts.
std::vector<std::string> OwnSchedulerFlags(const AgentSettings& settings);

// True if a scheduler with these flags keeps its journal in a file, by ms-scheduler's own rules. `path_of_environment`
// is MS_JOURNAL_PATH, which the scheduler inherits; --journal_path in the flags has precedence.
bool HasJournalFile(const std::vector<std::string>& flags, absl::string_view path_of_environment);

}  // namespace muster::agent
