// All messages that the agent writes for people.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "absl/time/time.h"
#include "muster/v1/rendezvous.pb.h"
#include "worker_agent/core/events.h"

namespace muster::agent {

// Before the first welcome: no scheduler answers yet.
Say SayWaitingForScheduler(const std::string& scheduler, const std::string& reason, absl::Duration waited,
                           absl::Duration patience, const std::string& hint);
Say SayDialWaits(const std::string& scheduler);
// After a welcome: the connection is gone and the processes keep running.
Say SayApart(const std::string& scheduler, const std::string& reason, absl::Duration apart, absl::Duration patience);
// Follows SayApart if the fence is armed.
Say SayFenceRuns(absl::Duration fence_timeout, absl::Duration left);
// `fence_timeout`: 0 where it is not known any more.
Say SayFenceHasFallen(const std::string& scheduler, absl::Duration fence_timeout);
Say SayFenceTooShort(absl::Duration fence_timeout, absl::Duration stop_time);
Say SayReconnected(absl::Duration apart);
// SayReplaced and SayNotRelieved: the replacement (connection/replacement.h) that must show a renewed certificate has
// taken the place of the open connection, or has failed. SayAnswersAgain and SayStillSilent: the same for the
// replacement of a connection that does not answer.
Say SayReplaced();
Say SayAnswersAgain(const std::string& scheduler);
Say SayStillSilent(const std::string& scheduler, const std::string& reason);
Say SayNotRelieved(const std::string& scheduler, const std::string& reason);
// After a welcome: the scheduler now refuses this node.
Say SayUnwelcome(const std::string& scheduler, const std::string& reason, absl::Duration patience);
Say SayJoined(const v1::Welcome& welcome);
Say SayNoDatagrams(const std::string& scheduler);
Say SayRound(const v1::DesiredState& desired, const std::vector<uint32_t>& slots);
Say SayProgress(const v1::WaitStatus& waiting);

// The last messages of an agent. Each says what happened and which setting fixes it.
Say SayUnreachable(const std::string& scheduler, const std::string& reason, absl::Duration waited, uint32_t retry_num);
Say SaySchedulerLost(const std::string& scheduler, const std::string& reason, absl::Duration waited,
                     uint32_t retry_num);
// `how`: see OwnSchedulerLost.
Say SayOwnSchedulerEnded(const std::string& how);
Say SayOwnSchedulerLost(const std::string& how);
Say SayDoneWithoutScheduler(const std::string& how);
Say SaySchedulerForgot(const std::string& scheduler);
// Returns the reason in the scheduler's words, or in ours if it gave none.
std::string WhyRefused(const v1::Refusal& refusal);
Say SayRefused(const std::string& scheduler, const v1::Refusal& refusal);
// The node was drained on request: this is no failure.
Say SayDrained(const v1::Refusal& refusal);
Say SaySecurity(const std::string& scheduler, const std::string& reason);
// The node was welcomed before, and has been refused for the time `waited`.
Say SayShutOut(const std::string& scheduler, const std::string& reason, absl::Duration waited, uint32_t retry_num);

// A process of a rank that was sent SIGKILL and is still there.
struct NamedProcess {
  uint32_t rank = 0;
  uint64_t pid = 0;      // 0: not known
  std::string name;      // empty: not known, and the process is the rank's own
  std::string state;     // as in proc(5)
  bool is_left = false;  // the rank's own process has died and has left this one
};
// Says that the process can't be killed, and that the rank's next start waits for its end.
Say SayLeft(const NamedProcess& process, absl::Duration stuck);
// Says that the agent ends without waiting for these processes.
Say SayStuck(const std::vector<NamedProcess>& processes, const std::string& node_id);

// Returns the messages at the end of a run: the last lines of the failed process (if `are_lines_shown`, only with
// a device's log: the user sees the output right above), and as the last line the cause.
std::vector<Say> SayOutcome(const std::string& job_id, uint64_t run, const v1::Outcome& outcome, bool are_lines_shown);

// Returns the message about a SIGINT that the agent passes on to the processes.
std::string InterruptingInWords(absl::Duration interrupt_time, absl::Duration stop_timeout);

}  // namespace muster::agent
