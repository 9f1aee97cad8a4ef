#include "worker_agent/core/messages.h"

#include <algorithm>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "worker_agent/core/process_end.h"

namespace muster::agent {
namespace {

constexpr size_t kMaxNamed = 8;  // how many processes a message names

// Shows tenths of a second only below 10 s, so that half a second is not shown as "0".
std::string Duration(absl::Duration duration) {
  return absl::FormatDuration(
      absl::Trunc(duration, duration < absl::Seconds(10) ? absl::Milliseconds(100) : absl::Seconds(1)));
}

// "3", "0-3", "0,2-4": the ranks of some slots.
std::string RankRanges(const v1::Assignment& assignment, const std::vector<uint32_t>& slots) {
  std::string text;
  for (size_t i = 0; i < slots.size();) {
    const uint32_t first = assignment.slots(static_cast<int>(slots[i])).rank();
    uint32_t last = first;
    size_t next = i + 1;
    while (next < slots.size() && assignment.slots(static_cast<int>(slots[next])).rank() == last + 1) {
      ++last;
      ++next;
    }
    absl::StrAppend(&text, text.empty() ? "" : ",", first);
    if (last > first) absl::StrAppend(&text, "-", last);
    i = next;
  }
  return text;
}

std::string NameOf(const NamedProcess& process) {
  if (!process.name.empty()) {
    return absl::StrCat("process ", process.pid, " (", process.name, ", state ", process.state, ") of rank ",
                        process.rank);
  }
  if (process.is_left) return absl::StrCat("a process that was started by rank ", process.rank, "'s process");
  return absl::StrCat("rank ", process.rank, "'s process", process.pid == 0 ? "" : absl::StrCat(" ", process.pid));
}

std::string RetryHint(uint32_t retry_num) {
  return absl::StrCat("MS_CLUSTER_RETRY_NUM (", retry_num, " tries x 3 s) sets how long an agent tries");
}

}  // namespace

Say SayWaitingForScheduler(const std::string& scheduler, const std::string& reason, absl::Duration waited,
                           absl::Duration patience, const std::string& hint) {
  if (waited < absl::Seconds(5)) {
    return {Severity::kInfo, absl::StrCat("waiting for the scheduler at ", scheduler, " for up to ", Duration(patience),
                                          ": ", reason, hint.empty() ? "" : "; ", hint)};
  }
  return {Severity::kInfo,
          absl::StrCat("still waiting for the scheduler at ", scheduler, " (MS_SCHED_HOST and MS_SCHED_PORT) after ",
                       Duration(waited), " of ", Duration(patience), ": ", reason)};
}

Say SayDialWaits(const std::string& scheduler) {
  return {Severity::kInfo,
          absl::StrCat("the machine of the scheduler at ", scheduler,
                       " has accepted the connection, but the scheduler has not answered yet: it is busy with other "
                       "connections, or it hangs (its log and `ms-ctl status` on that machine show which); waiting")};
}

Say SayApart(const std::string& scheduler, const std::string& reason, absl::Duration apart, absl::Duration patience) {
  if (apart == absl::ZeroDuration()) {
    return {Severity::kWarning,
            absl::StrCat("lost the scheduler at ", scheduler, " (", reason,
                         "); processes keep running, and this agent tries to reach it for ", Duration(patience))};
  }
  return {Severity::kWarning, absl::StrCat("still without the scheduler at ", scheduler, " after ", Duration(apart),
                                           " of ", Duration(patience), ": ", reason)};
}

Say SayFenceRuns(absl::Duration fence_timeout, absl::Duration left) {
  return {Severity::kWarning,
          absl::StrCat(
              "if no scheduler answers within ", Duration(std::max(left, absl::ZeroDuration())),
              ", this node ends its processes, because other nodes may take its ranks after that (--fence_timeout ",
              Duration(fence_timeout), ")")};
}

Say SayFenceHasFallen(const std::string& scheduler, absl::Duration fence_timeout) {
  const bool is_known = fence_timeout > absl::ZeroDuration();
  return {Severity::kError,
          absl::StrCat("no answer from the scheduler at ", scheduler,
                       " for so long that others may take over the ranks of this node (--fence_timeout",
                       is_known ? absl::StrCat(" ", absl::FormatDuration(fence_timeout)) : "",
                       "): stopping its processes")};
}

Say SayFenceTooShort(absl::Duration fence_timeout, absl::Duration stop_time) {
  return {Severity::kWarning,
          absl::StrCat("--fence_timeout ", absl::FormatDuration(fence_timeout),
                       " is too short for --fence_stop_timeout ", absl::FormatDuration(stop_time),
                       ": this node runs without a fence; raise --fence_timeout or lower --fence_stop_timeout")};
}

Say SayReconnected(absl::Duration apart) {
  if (apart < absl::Milliseconds(100)) return {Severity::kInfo, "reconnected to the scheduler"};
  return {Severity::kInfo, absl::StrCat("reconnected to the scheduler after ", Duration(apart))};
}

Say SayReplaced() { return {Severity::kInfo, "the connection to the scheduler now shows the renewed certificate"}; }

Say SayAnswersAgain(const std::string& scheduler) {
  return {Severity::kInfo, absl::StrCat("the connection to the scheduler at ", scheduler,
                                        " had stopped answering: a new one has taken its place")};
}

Say SayStillSilent(const std::string& scheduler, const std::string& reason) {
  return {Severity::kWarning,
          absl::StrCat("the connection to the scheduler at ", scheduler,
                       " does not answer, and there is no new one yet (", reason, "): trying again")};
}

Say SayNotRelieved(const std::string& scheduler, const std::string& reason) {
  return {Severity::kWarning,
          absl::StrCat("no connection with the renewed certificate to the scheduler at ", scheduler, " yet (", reason,
                       "): keeping the one with the old certificate, trying again")};
}

Say SayUnwelcome(const std::string& scheduler, const std::string& reason, absl::Duration patience) {
  return {Severity::kError,
          absl::StrCat("the scheduler at ", scheduler, " no longer accepts this node: ", reason,
                       ". Processes keep running, and this agent tries again for ", Duration(patience),
                       ": correct the TLS settings of the scheduler or the certificate of this node")};
}

Say SayJoined(const v1::Welcome& welcome) {
  std::string text =
      absl::StrCat("joined job ", welcome.job_id(), " (run ", welcome.run(), ") as node ", welcome.node_id());
  if (welcome.is_spare()) absl::StrAppend(&text, ", a spare");
  if (!welcome.previous_run().empty()) absl::StrAppend(&text, "; the previous run: ", welcome.previous_run());
  return {Severity::kInfo, text};
}

Say SayNoDatagrams(const std::string& scheduler) {
  return {Severity::kInfo,
          absl::StrCat(
              "heartbeats go over the connection, which costs both ends more: UDP to the same port of ", scheduler,
              " gets no answer; let it through the firewall, or start the scheduler with --heartbeat_datagrams=false")};
}

Say SayRound(const v1::DesiredState& desired, const std::vector<uint32_t>& slots) {
  const v1::Assignment& assignment = desired.assignment();
  const bool is_server = assignment.role() == v1::ROLE_SERVER;
  std::string text = absl::StrCat("round ", desired.round(), ": ", is_server ? "server " : "",
                                  slots.size() == 1 ? "rank " : "ranks ", RankRanges(assignment, slots), " of ",
                                  is_server ? assignment.server_num() : assignment.worker_num());
  if (assignment.machine_num() > 1) {
    absl::StrAppend(&text, "; machine ", assignment.node_rank() + 1, " of ", assignment.machine_num(), " (NODE_RANK ",
                    assignment.node_rank(), ")");
  }
  return {Severity::kInfo, text};
}

Say SayProgress(const v1::WaitStatus& waiting) { return {Severity::kInfo, waiting.text(), true}; }

Say SayUnreachable(const std::string& scheduler, const std::string& reason, absl::Duration waited, uint32_t retry_num) {
  return {Severity::kError,
          absl::StrCat("could not reach the scheduler at ", scheduler, " within ", Duration(waited), " (", reason,
                       "). Check that ms-scheduler runs there, that MS_SCHED_HOST and MS_SCHED_PORT name it, and that "
                       "no firewall is in between; ",
                       RetryHint(retry_num))};
}

Say SaySchedulerLost(const std::string& scheduler, const std::string& reason, absl::Duration waited,
                     uint32_t retry_num) {
  return {Severity::kError, absl::StrCat("the scheduler at ", scheduler, " has been out of reach for ",
                                         Duration(waited), " (", reason, "): giving up; ", RetryHint(retry_num))};
}

Say SayOwnSchedulerEnded(const std::string& how) {
  return {Severity::kWarning,
          absl::StrCat("the ms-scheduler that this agent started ", how, ": stopping the processes")};
}

Say SayDoneWithoutScheduler(const std::string& how) {
  return {Severity::kWarning, absl::StrCat("the ms-scheduler that this agent started ", how,
                                           "; all processes of the job had ended with 0 before")};
}

Say SayOwnSchedulerLost(const std::string& how) {
  return {Severity::kError,
          absl::StrCat("the ms-scheduler that this agent started ", how,
                       ", and its record of the job is lost: start the job again. If nothing else explains its end, "
                       "this machine may have run out of memory (see dmesg). With --journal_path FILE this agent would "
                       "start it again, and the job would go on")};
}

Say SaySchedulerForgot(const std::string& scheduler) {
  return {Severity::kError,
          absl::StrCat("the scheduler at ", scheduler,
                       " came back without a record of this job, so the job can't go on; give ms-scheduler a journal "
                       "(--journal_path or MS_RECOVERY_PATH) to survive a restart")};
}

std::string WhyRefused(const v1::Refusal& refusal) {
  if (!refusal.text().empty()) return refusal.text();
  if (IsKnown(refusal.reason())) return v1::Refusal::Reason_Name(refusal.reason());
  return absl::StrCat("refused for a reason that this version doesn't know (", static_cast<int>(refusal.reason()), ")");
}

Say SayRefused(const std::string& scheduler, const v1::Refusal& refusal) {
  return {Severity::kError, absl::StrCat("refused by the scheduler at ", scheduler, ": ", WhyRefused(refusal))};
}

Say SayDrained(const v1::Refusal& refusal) {
  return {Severity::kInfo, refusal.text().empty() ? "this node was drained: it has left the job" : refusal.text()};
}

Say SaySecurity(const std::string& scheduler, const std::string& reason) {
  return {Severity::kError, absl::StrCat("no secure connection to the scheduler at ", scheduler, ": ", reason,
                                         ". Check the certificates of both sides (dates, chain, names, revocation)")};
}

Say SayShutOut(const std::string& scheduler, const std::string& reason, absl::Duration waited, uint32_t retry_num) {
  return {Severity::kError, absl::StrCat("the scheduler at ", scheduler, " has not accepted this node for ",
                                         Duration(waited), " (", reason, "): giving up; ", RetryHint(retry_num))};
}

Say SayLeft(const NamedProcess& process, absl::Duration stuck) {
  return {Severity::kError, absl::StrCat(NameOf(process), " can't be killed: it is still there ", Duration(stuck),
                                         " after SIGKILL, because it hangs in the kernel (see dmesg; often a driver or "
                                         "a file system) or is traced; nothing starts in its place until it is gone")};
}

Say SayStuck(const std::vector<NamedProcess>& processes, const std::string& node_id) {
  std::string text;
  for (size_t i = 0; i < std::min(processes.size(), kMaxNamed); ++i) {
    absl::StrAppend(&text, i == 0 ? "" : ", ", NameOf(processes[i]));
  }
  if (processes.size() > kMaxNamed) absl::StrAppend(&text, " and ", processes.size() - kMaxNamed, " more");
  return {
      Severity::kError,
      absl::StrCat(text,
                   " can't be killed, or a descendant can't: it hangs in the kernel (see dmesg; often a driver or a "
                   "file system). The agent ends without waiting for it. Reboot this machine, or wait until the "
                   "process is gone; after that, if a job waits for this node, run `ms-ctl fence ",
                   node_id, "`")};
}

std::vector<Say> SayOutcome(const std::string& job_id, uint64_t run, const v1::Outcome& outcome, bool are_lines_shown) {
  if (outcome.succeeded()) {
    return {{Severity::kInfo, absl::StrCat("job ", job_id, " (run ", run, ") succeeded")}};
  }
  if (WasStopped(outcome)) {
    const std::string& text = outcome.cause().text();
    return {{Severity::kInfo, absl::StrCat("job ", job_id, " (run ", run, ") was ",
                                           absl::StartsWith(text, "stopped ") ? "" : "stopped: ", text)}};
  }
  std::vector<Say> says;
  const v1::Cause& cause = outcome.cause();
  // The lines of a device's log come first. No terminal has shown them.
  const bool has_device_log = cause.last_lines_size() > 0 && absl::StartsWith(cause.last_lines(0), kDeviceLogLine);
  if (cause.last_lines_size() > 0 && (!are_lines_shown || has_device_log)) {
    // The lines of a stall are the places where its ranks stand.
    const bool is_stall = cause.kind() == v1::Cause::NO_PROGRESS;
    says.push_back({Severity::kError, is_stall           ? std::string("where the ranks stand:")
                                      : cause.has_rank() ? absl::StrCat("last output of rank ", cause.rank(), ":")
                                                         : std::string("last output:")});
    for (const std::string& line : cause.last_lines()) {
      says.push_back({Severity::kError, absl::StrCat("  | ", line)});
    }
  }
  if (!cause.log_file().empty()) {
    says.push_back(
        {Severity::kError, absl::StrCat("all of its output: ", cause.log_file(), " on ", cause.host_name())});
  }
  std::string text =
      absl::StrCat("job ", job_id, " (run ", run,
                   ") failed: ", cause.text().empty() ? v1::Cause::Kind_Name(cause.kind()) : cause.text());
  if (!cause.remedy().empty()) absl::StrAppend(&text, "; ", cause.remedy());
  says.push_back({Severity::kError, text});
  return says;
}

std::string InterruptingInWords(absl::Duration interrupt_time, absl::Duration stop_timeout) {
  return absl::StrCat("interrupting the processes; those that go on get SIGTERM in ", Duration(interrupt_time),
                      ", and SIGKILL in ", Duration(stop_timeout), " or with the next signal");
}

}  // namespace muster::agent
