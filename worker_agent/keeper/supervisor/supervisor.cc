// The ends that the supervisor sees, and what they mean:
//
// | what ends                   | what it means                                                                         |
// |-----------------------------|---------------------------------------------------------------------------------------|
// | the process                 | it has died (its shim says so); leftovers.cc handles what is left of it               |
// | the shim, with 0            | nothing of its process is left: it is cleared                                         |
// | the shim was killed         | its children are strays, children of the keeper now: they are killed, and the process |
// |                             | is cleared when no stray is left                                                      |
// | a child that is no shim     | a stray: so its shim is dead, or about to be                                          |
// | (children can't be seen)    | any may be alive: no process with a killed shim is cleared. The keeper logs that, and |
// |                             | looks again                                                                           |
#include "worker_agent/keeper/supervisor/supervisor.h"

#include <sys/epoll.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/base/limits.h"
#include "worker_agent/keeper/boottime.h"
#include "worker_agent/keeper/process/children.h"
#include "worker_agent/keeper/text.h"

namespace muster::agent {
namespace {

constexpr size_t kMaxProcesses = 2 * kMaxSlotsPerNode;
constexpr absl::Duration kBeginPatience = absl::Seconds(5);  // the longest wait of a process for its files
constexpr absl::Duration kKillPatience = absl::Seconds(2);   // a shim may take this long to kill everything

LaunchError Fault(std::string text) { return MakeLaunchError(LaunchStep::kInternal, 0, std::move(text)); }

}  // namespace

Supervisor::Supervisor(CallbackPoller& poller, Sinks sinks, const KeeperOptions& options,
                       const ShimOptions& shim_options, EventSink report)
    : poller_(poller),
      sinks_(sinks),
      options_(options),
      shim_options_(shim_options),
      report_(std::move(report)),
      children_(Children::OfThisProcess()),
      memory_(MemoryWatch::OfThisProcess()),
      match_time_(Clock::Boot()) {}

// ------------------------------------------------------------------------------------------------------------ start

void Supervisor::Start(const ProcessSpec& spec) {
  if (spec.argv.empty() || spec.argv[0].empty()) return FailLaunch(spec.key, Fault("the command is empty"));
  if (processes_.count(spec.key) + waiting_.count(spec.key) + burials_.count(spec.key) != 0) {
    return FailLaunch(spec.key, Fault(absl::StrCat("slot ", spec.key.slot, " was started twice")));
  }
  if (processes_.size() + waiting_.size() >= kMaxProcesses) {
    return FailLaunch(spec.key, Fault(absl::StrCat("more than ", kMaxProcesses, " processes on one agent")));
  }
  const ProcessKey key = spec.key;
  const MonotonicTime now = BootTime();
  const bool is_late = sinks_.logs.IsLate(now) || sinks_.files.IsLate(now);
  Waiting& waiting = waiting_[key];
  waiting.spec = spec;
  waiting.begin_at = is_late ? now : now + kBeginPatience;
  waiting.answers_left = 1;  // our own answer, at the end of this function
  auto answer = [this, key](const std::string& error) { TakeAnswer(key, error); };
  if (!spec.error_file.empty()) {
    ++waiting.answers_left;
    sinks_.files.Remove(spec.error_file, answer);
  }
  if (!spec.log_path.empty()) {
    ++waiting.answers_left;
    waiting.log = sinks_.logs.OpenLog(spec.log_path, answer);
  }
  TakeAnswer(key, "");
}

// If nothing waits for the answer any more (it is late, or the process was refused), only logs the error.
void Supervisor::TakeAnswer(const ProcessKey& key, const std::string& error) {
  const auto found = waiting_.find(key);
  if (found == waiting_.end()) {
    if (!error.empty()) sinks_.live.error().Write(absl::StrCat("ms-worker: ", Unpack(error).text, "\n"), BootTime());
    return;
  }
  if (!error.empty()) found->second.error = error;
  if (--found->second.answers_left == 0) BeginWaiting(key);
}

void Supervisor::BeginWaiting(const ProcessKey& key) {
  Waiting waiting = std::move(waiting_.extract(key).mapped());
  Process process;
  process.spec = std::move(waiting.spec);
  process.log = waiting.log;
  process.ended.key = key;
  if (!waiting.error.empty()) return FailLaunch(process, Unpack(waiting.error));
  if (!shim_options_.page->HasFallen(BootTime())) return Launch(process);
  // The fence fell while the process waited for its files: another node may have its rank.
  if (process.log != 0) sinks_.logs.CloseLog(process.log, {});
  Refuse(key);
}

void Supervisor::RefuseWaiting() {
  for (auto& [key, waiting] : std::exchange(waiting_, {})) {
    if (waiting.log != 0) sinks_.logs.CloseLog(waiting.log, {});
    Refuse(key);
  }
}

void Supervisor::Launch(Process& process) {
  const ProcessSpec& spec = process.spec;
  ProcessOutput::ChildEnds ends;
  auto output = ProcessOutput::Create(spec, sinks_.live, poller_, {sinks_.logs, process.log}, NewMatcher(), ends);
  if (!output.ok()) return FailLaunch(process, LaunchErrorOf(output.status()));
  process.memory_at_start = memory_.Now();
  const int err = ends.err.is_open() ? ends.err.get() : ends.out.get();
  absl::StatusOr<Shim> shim = Shim::Start(spec, ends.out.get(), err, shim_options_);
  if (!shim.ok()) return FailLaunch(process, LaunchErrorOf(shim.status()));
  process.spec.hand_over = {};  // the shim has the descriptor: don't keep it open here
  process.output = *std::move(output);
  process.shim = *std::move(shim);
  process.number = ++last_number_;
  has_children_ = true;
  const ProcessKey key = spec.key;
  shims_[process.shim->pid()] = key;
  Process& kept = processes_.emplace(key, std::move(process)).first->second;  // a std::map never moves its entries
  poller_.Watch(kept.shim->fd(), EPOLLIN, [this, &kept] { TakeReports(kept); });
  if (is_suspended_) kept.shim->Suspend();
}

void Supervisor::FailLaunch(const Process& process, const LaunchError& error) {
  if (process.log != 0) sinks_.logs.CloseLog(process.log, {});
  FailLaunch(process.spec.key, error);
}

void Supervisor::FailLaunch(const ProcessKey& key, const LaunchError& error) {
  Ended ended;
  ended.key = key;
  ended.end.exit.code = error.exit_code;
  ended.end.launch_error = CleanText(error.text, kMaxShortTextBytes);
  ended.end.launch_reason = error.reason;
  ended.end.launch_remedy = error.remedy;
  ended.ended_at = BootTime();
  report_(ended);
}

void Supervisor::Refuse(const ProcessKey& key) {
  Ended ended;
  ended.key = key;
  ended.end.exit.signal = options_.stop_signal;
  ended.end.was_stopped = true;
  ended.ended_at = BootTime();
  report_(ended);
}

// ---------------------------------------------------------------------------------------------------------- reports

void Supervisor::TakeReports(Process& process) {
  bool is_open = true;
  for (const ShimReport& report : process.shim->Read(is_open)) TakeReport(process, report);
  if (!is_open) poller_.Forget(process.shim->fd());  // SIGCHLD reports that the shim has died
}

void Supervisor::TakeReport(Process& process, const ShimReport& report) {
  switch (report.kind) {
    case ShimReport::kStarted:
      process.pid = report.value;
      return report_(Started{process.spec.key, report.value});
    case ShimReport::kNotStarted:
      process.ended.end.launch_error = CleanText(report.text, kMaxShortTextBytes);
      process.ended.end.launch_reason = report.reason;
      process.ended.end.launch_remedy = report.remedy;
      process.ended.end.exit.code = report.value;
      process.ended.ended_at = report.at;
      return;
    case ShimReport::kEnded:
      process.ended.end.was_stopped = report.was_stopped;
      return TakeWaitStatus(process, report.value, report.at);
    case ShimReport::kWaits:
    case ShimReport::kLeaves:
    case ShimReport::kJobFailed:
      return SayWhatIsLeft(process, report);
    case ShimReport::kKilling:
      process.is_killing = true;
      process.kill_shim_at = BootTime() + kKillPatience;
      return NoteKilled(process);
    case ShimReport::kCantLook:
      if (process.is_killing && children_.CanLook()) process.kill_shim_at = BootTime();  // the keeper kills instead
      return SayCantLook(absl::StrCat("processes of slot ", process.spec.key.slot, " are left"), report.text);
  }
}

void Supervisor::TakeWaitStatus(Process& process, int status, MonotonicTime at) {
  process.has_ended = true;
  process.ended.ended_at = at;
  ProcessEnd& end = process.ended.end;
  if (end.launch_error.empty()) {  // a process that never ran keeps the code that says why
    end.exit = ExitStatus::FromWaitStatus(status);
    if (!end.was_stopped) end.memory = memory_.Judge(process.memory_at_start, end.exit, process.pid);
  }
  process.output->Drain();
  const bool was_asked = end.was_stopped;  // by another order: then its remains have their time
  TakeFailingLine(process, at);
  // The remains of a process that was stopped still have time to end. Those of any other process are being killed now.
  if (!was_asked || !process.killed_at.is_never()) NoteKilled(process);
}

// -------------------------------------------------------------------------------------------------------------- end

void Supervisor::Reap() {
  while (true) {
    int status = 0;
    const pid_t pid = ::waitpid(-1, &status, WNOHANG);
    if (pid < 0 && errno == EINTR) continue;
    if (pid < 0) has_children_ = false;  // ECHILD
    if (pid <= 0) break;
    if (shims_.count(pid) != 0) {
      ReapShim(pid, status);
    } else {
      ReapStray(pid, status);
    }
  }
  TakeStops();
  if (has_strays_) RunStrays(BootTime());
}

void Supervisor::ReapShim(pid_t pid, int status) {
  Process& process = processes_.at(shims_.extract(pid).mapped());
  TakeReports(process);  // its last reports may be unread: SIGCHLD can come before the socket's event
  const ExitStatus exit = ExitStatus::FromWaitStatus(status);
  if (exit.IsSuccess()) return Finish(process);
  LoseShim(process, exit);
}

// Takes the reports first: they say which pid belonged to which process.
void Supervisor::ReapStray(pid_t pid, int status) {
  LookForStrays();
  for (auto& [key, process] : processes_) {
    TakeReports(process);
    if (process.pid == pid && !process.has_ended) {
      process.ended.end.was_stopped = process.is_stop_requested;
      TakeWaitStatus(process, status, BootTime());
    }
  }
}

void Supervisor::LoseShim(Process& process, const ExitStatus& exit) {
  process.is_shim_lost = true;
  process.stop_at = process.kill_shim_at = process.stopped_at = MonotonicTime::Never();
  LookForStrays();
  NoteKilled(process);
  if (process.is_stop_requested || process.stop_signal != 0) return;
  const std::string how =
      exit.signal != 0 ? absl::StrCat("was killed by signal ", exit.signal) : absl::StrCat("ended with ", exit.code);
  sinks_.live.error().Write(absl::StrCat("ms-worker: the shim of slot ", process.spec.key.slot, " ", how,
                                         "; its process is killed with all that it started\n"),
                            BootTime());
}

void Supervisor::LookForStrays() {
  if (!std::exchange(has_strays_, true)) strays_pause_ = absl::Milliseconds(kFirstPauseMs);
  strays_at_ = BootTime();
}

// Kills the strays: processes that have lost their shim. Only a look that finds none proves that none is left.
void Supervisor::RunStrays(MonotonicTime now) {
  bool is_any_left = false;
  const bool has_looked = children_.Kill([&](pid_t child) {
    const bool is_shim = shims_.count(child) != 0;
    is_any_left |= !is_shim;
    return is_shim;
  });
  if (!has_looked && !std::exchange(has_said_that_it_cant_look_, true)) {
    SayCantLook("processes are left after their shim was killed", std::strerror(errno));
  }
  if (has_looked && !is_any_left) {
    has_strays_ = has_said_that_it_cant_look_ = false;
    strays_at_ = MonotonicTime::Never();
    for (auto it = processes_.begin(); it != processes_.end();) {
      Process& process = it++->second;
      if (process.is_shim_lost) Finish(process);
    }
    return;
  }
  strays_at_ = now + strays_pause_;
  strays_pause_ = std::min(2 * strays_pause_, absl::Milliseconds(kMaxPauseMs));
}

void Supervisor::Finish(Process& process) {
  poller_.Forget(process.shim->fd());
  // Without a report of its end, the process was killed together with its shim before its pid was reported.
  if (!process.has_ended && process.ended.end.launch_error.empty()) {
    process.ended.end.was_stopped = process.is_stop_requested;
    TakeWaitStatus(process, SIGKILL, BootTime());
  }
  const ProcessKey key = process.spec.key;
  const bool has_log = process.output->has_log();
  // A helper that was late already is not waited for.
  const bool waits_for_log = !process.is_reported && has_log && !sinks_.logs.IsLate(BootTime());
  Burial* const burial = process.is_reported ? nullptr : &Bury(process);
  if (waits_for_log) ++burial->answers_left;
  std::vector<std::string> last_lines = process.output->Finish([this, key, waits_for_log] {
    if (waits_for_log) TakeLastAnswer(key, "");
  });
  const bool has_failed = burial != nullptr && burial->ended.end.HasFailedByItself();
  if (has_failed) burial->ended.end.exception = process.output->FindException();
  remains_[key.slot] = {key, process.pid, has_log ? process.spec.log_path : "", process.output->tail()};
  processes_.erase(key);
  if (burial != nullptr) {
    burial->ended.end.last_lines = std::move(last_lines);
    TakeLastAnswer(key, "");
  } else if (const auto report_due = burials_.find(key); report_due != burials_.end()) {
    report_due->second.ended.is_anything_left = false;
  } else {
    report_(Cleared{key});
  }
}

// -------------------------------------------------------------------------------------------------------- deadlines

void Supervisor::RunDeadlines() {
  const MonotonicTime now = BootTime();
  for (auto& [key, process] : processes_) {
    if (process.output != nullptr) process.output->Resume(now);
    ReportOutput(process, now);
    if (now >= process.kill_at) Kill(process);
    if (now >= process.stop_at) {
      process.stop_at = MonotonicTime::Never();
      process.shim->Stop();
    }
    RunLeftoverDeadlines(process, now);
    if (now < process.kill_shim_at) continue;
    process.kill_shim_at = MonotonicTime::Never();
    ::kill(process.shim->pid(), SIGKILL);  // not reaped, so its pid can't mean another process
  }
  if (now >= fence_kill_at_) {
    fence_kill_at_ = MonotonicTime::Never();
    KillThrough(fence_through_);
    shim_options_.page->NoteObeyed(fence_);
  }
  if (has_strays_ && now >= strays_at_) RunStrays(now);
  RunFileDeadlines(now);
}

MonotonicTime Supervisor::NextDeadline() const {
  MonotonicTime next = std::min(fence_kill_at_, has_strays_ ? strays_at_ : MonotonicTime::Never());
  for (const auto& [key, waiting] : waiting_) next = std::min(next, waiting.begin_at);
  for (const auto& [key, burial] : burials_) next = std::min(next, burial.report_at);
  for (const auto& [key, process] : processes_) {
    if (process.output != nullptr) next = std::min(next, process.output->NextDeadline());
    next = std::min({next, NextOutputReport(process), process.stop_at, process.kill_at, process.kill_shim_at,
                     NextLeftoverDeadline(process)});
  }
  return next;
}

}  // namespace muster::agent
