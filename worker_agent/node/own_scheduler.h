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
#include "absl/time/time.h"
#include "common/net/ip_address.h"
#include "worker_agent/launch/port_reservation.h"
#include "worker_agent/settings/agent_settings.h"

namespace muster::agent {

// This program's own path.
std::string OwnProgram();

// ms-scheduler beside this program, else the one in PATH.
std::string SchedulerProgram();

// The flags of an agent's command line: what stands before the command.
std::vector<std::string> FlagsOf(const std::vector<std::string>& args, const std::vector<std::string>& command);

// Replaces this process by `ms-scheduler --once` with the same flags. Returns only if that fails: the exit code.
int BecomeScheduler(const std::vector<std::string>& flags);

// A scheduler that lives and ends with its agent.
class OwnScheduler {
 public:
  // --standalone: always, on 127.0.0.1 and sched_port; 0: a free one, which is written into `settings`.
  // --with_scheduler: when sched_host, which stands for `addresses`, is this machine and nobody listens there; of
  // several agents of one machine one starts it. Null when none is to be started here. `lock_base`: see
  // WorkFolder::DefaultBase. To be called by the main thread.
  static absl::StatusOr<std::unique_ptr<OwnScheduler>> StartIfWanted(AgentSettings& settings,
                                                                     const std::vector<IpAddress>& addresses,
                                                                     const std::string& lock_base);

  // Ends it if it has not ended.
  ~OwnScheduler();
  OwnScheduler(const OwnScheduler&) = delete;
  OwnScheduler& operator=(const OwnScheduler&) = delete;

  pid_t pid() const { return pid_; }

  // Until it listens or has ended; at most 5 s. Then the first dial meets it.
  // To be called once. INTERNAL when it has ended and nobody else listens there: waiting for it would be in vain.
  absl::Status WaitUntilItListens(const AgentSettings& settings);

  // It ends by itself when all its agents know how the job ended. Waits for that, at most `patience`, or until
  // `is_hurried` says so.
  void WaitForEnd(absl::Duration patience, const std::function<bool()>& is_hurried);

 private:
  OwnScheduler(pid_t pid, UniqueFd lock, std::optional<ReservedPort> port)
      : pid_(pid), lock_(std::move(lock)), port_(std::move(port)) {}
  bool HasEnded();

  const pid_t pid_;
  const UniqueFd lock_;               // that no other agent of this user starts one
  std::optional<ReservedPort> port_;  // --standalone: nobody else gets it before the child, which binds with
                                      // SO_REUSEADDR, has it
  bool has_ended_ = false;
};

// What a scheduler of our own is started with.
std::vector<std::string> OwnSchedulerFlags(const AgentSettings& settings);

}  // namespace muster::agent
