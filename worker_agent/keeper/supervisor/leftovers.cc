// Handles the remains of a process that has died (descendants that still exist), and shims that were stopped (SIGSTOP).
// All remains have been sent SIGKILL by the shim, or by the keeper if the shim was killed.
//
//   after SIGKILL                                     what the keeper reports
//   nothing is left within kTogether                  the death, and in the same report that nothing is left
//   something is left for longer                      the death after kTogether; Cleared when nothing is left
//   something is left for leftovers_patience          Unkillable: one of the processes hangs in the kernel or is traced
//   it can't be seen whether something is left        nothing; the keeper looks again
//
//   the shim                                          what the keeper does
//   was stopped (SIGSTOP)                             logs that: a stopped shim notices no end, and takes no order
//   goes on within leftovers_patience                 logs that
//   is stopped for longer                             kills it: its process fails, and its children become strays
#include <sys/wait.h>

#include <algorithm>
#include <csignal>
#include <optional>
#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/base/exit_status.h"
#include "worker_agent/keeper/boottime.h"
#include "worker_agent/keeper/process/descendants.h"
#include "worker_agent/keeper/supervisor/supervisor.h"
#include "worker_agent/keeper/text.h"

namespace muster::agent {
namespace {

// The report of a death waits this long for the end of the remains. This delays a cause only a little, and nearly
// always makes one report instead of two.
constexpr absl::Duration kTogether = absl::Milliseconds(250);
constexpr absl::Duration kLate = absl::Seconds(1);  // only a keeper that was stopped itself is so late

}  // namespace

// Logs the processes that a process has left when it ended with 0. If they are killed, logs that once only;
// otherwise each restart would log it again.
void Supervisor::SayWhatIsLeft(const Process& process, const ShimReport& report) {
  const ProcessSpec& spec = process.spec;
  const std::string who = spec.stands_for_all ? "the command" : absl::StrCat("the process of slot ", spec.key.slot);
  const std::string names = CleanText(report.text, sizeof report.text);
  std::string line;
  if (report.kind == ShimReport::kWaits) {
    line = absl::StrCat(who, " has ended with 0; waiting for ", report.value,
                        report.value == 1 ? " process" : " processes", " that it left in the background: ", names,
                        " (with --leftover end they would be killed)");
  } else if (report.kind == ShimReport::kJobFailed) {
    line = absl::StrCat(names, "; it was a background job that ", who, " had left");
  } else if (std::exchange(has_said_what_is_left_, true)) {
    return;
  } else {
    const char* advice =
        spec.waits_for_background ? "--leftover wait does not wait for processes in a session of their own"
        : spec.stands_for_all     ? "--leftover wait would wait for those in the background"
                                  : "let it wait for the processes that it needs, as `wait` does in a shell";
    line = absl::StrCat(who, " has ended with 0, and the processes that it left are killed: ", names, "; ", advice);
  }
  sinks_.live.error().WriteLines(absl::StrCat("ms-worker: ", line, "\n"), BootTime());
}

void Supervisor::SayCantLook(const std::string& what, const char* why) {
  sinks_.live.error().Write(absl::StrCat("ms-worker: the keeper can't see whether ", what, " (/proc: ", why,
                                         "); it treats them as alive, and looks again\n"),
                            BootTime());
}

// Called at the death, and for each order to kill.
void Supervisor::NoteKilled(Process& process) {
  const MonotonicTime now = BootTime();
  if (process.killed_at.is_never()) {
    process.killed_at = now;
    process.look_at = now + options_.leftovers_patience;
  }
  if (process.has_ended && !process.is_reported && process.report_at.is_never()) process.report_at = now + kTogether;
}

void Supervisor::ReportEarly(Process& process) {
  process.report_at = MonotonicTime::Never();
  process.is_reported = true;
  Burial& burial = Bury(process);
  burial.ended.is_anything_left = true;
  burial.ended.end.last_lines = process.output->LastLinesSoFar();
  if (burial.ended.end.HasFailedByItself()) burial.ended.end.exception = process.output->FindException();
  TakeLastAnswer(process.spec.key, "");
}

void Supervisor::LookForUnkillable(Process& process, MonotonicTime now) {
  process.look_at = now + options_.leftovers_patience;
  // If the shim was killed, every stray counts: the keeper can't know to which process it belongs.
  std::set<pid_t> shims;
  for (const auto& [pid, key] : shims_) shims.insert(pid);
  const auto left =
      process.is_shim_lost ? DescendantsOf(::getpid(), shims) : DescendantsOf(process.shim->pid(), /*spared=*/{});
  if (!left.has_value() || left->empty()) return;
  const auto living = std::find_if(left->begin(), left->end(), [](const ProcessInfo& info) { return !info.is_dead; });
  const ProcessInfo& found = living != left->end() ? *living : left->front();
  const std::string state(1, StateOf(found));
  Unkillable& last = process.unkillable;
  if (last.pid == found.pid && last.state == state) return;
  last = {process.spec.key, found.pid, ShownName(found), state, process.killed_at};
  report_(last);
}

// ------------------------------------------------------------------------------------------------------ stopped shims

// Called after SIGCHLD: logs shims that were stopped or go on, which Reap's waitpid doesn't report. Also finds a shim
// that was stopped before the keeper looked.
void Supervisor::TakeStops() {
  while (true) {
    siginfo_t info{};
    if (::waitid(P_ALL, 0, &info, WSTOPPED | WCONTINUED | WNOHANG) != 0 || info.si_pid == 0) return;
    const auto shim = shims_.find(info.si_pid);
    if (shim == shims_.end()) continue;
    Process& process = processes_.at(shim->second);
    const std::string which =
        absl::StrCat("ms-worker: the shim of slot ", process.spec.key.slot, " (process ", info.si_pid, ") ");
    if (info.si_code == CLD_CONTINUED) {
      if (process.stopped_at.is_never()) continue;
      process.stopped_at = MonotonicTime::Never();
      process.stop_signal = 0;
      sinks_.live.error().Write(absl::StrCat(which, "goes on\n"), BootTime());
    } else if (process.stopped_at.is_never()) {
      process.stopped_at = BootTime();
      process.stop_signal = info.si_status;
      sinks_.live.error().Write(
          absl::StrCat(which, "was stopped by ", NameOfSignal(info.si_status), ": kill -CONT ", info.si_pid,
                       " lets it go on; until then the keeper does not notice the end of its process; if it is still "
                       "stopped in ",
                       absl::ToInt64Seconds(options_.leftovers_patience),
                       " s, the keeper kills it with all that it has started\n"),
          BootTime());
    }
  }
}

void Supervisor::EndStoppedShim(Process& process) {
  process.stopped_at = MonotonicTime::Never();
  const pid_t shim = process.shim->pid();
  const std::optional<ProcessInfo> now = ReadProcess(shim);
  if (now.has_value() && !now->is_stopped) {  // it goes on; the next TakeStops logs that
    process.stop_signal = 0;
    return;
  }
  ::kill(shim, SIGKILL);  // not reaped, so its pid can't mean another process
  const std::string why = absl::StrCat("its shim (pid ", shim, ") was stopped by ", NameOfSignal(process.stop_signal),
                                       " for ", absl::ToInt64Seconds(options_.leftovers_patience), " s");
  sinks_.live.error().Write(absl::StrCat("ms-worker: the process of slot ", process.spec.key.slot,
                                         " is killed with all that it has started: ", why, "\n"),
                            BootTime());
  if (!process.has_ended) process.ended.end.error_message = why;
}

// ---------------------------------------------------------------------------------------------------------- deadlines

void Supervisor::RunLeftoverDeadlines(Process& process, MonotonicTime now) {
  if (now >= process.report_at) ReportEarly(process);
  if (now >= process.look_at) LookForUnkillable(process, now);
  const MonotonicTime end_at = process.stopped_at + options_.leftovers_patience;
  if (now >= end_at + kLate) {
    // The keeper was stopped itself, or the machine slept: no one could have let the shim go on in this time.
    process.stopped_at = now;
  } else if (now >= end_at) {
    EndStoppedShim(process);
  }
}

MonotonicTime Supervisor::NextLeftoverDeadline(const Process& process) const {
  return std::min({process.report_at, process.look_at, process.stopped_at + options_.leftovers_patience});
}

}  // namespace muster::agent
