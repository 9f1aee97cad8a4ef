#include "worker_agent/keeper/supervisor.h"

#include <sys/epoll.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <optional>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/limits.h"
#include "worker_agent/keeper/boottime.h"
#include "worker_agent/keeper/descendants.h"
#include "worker_agent/keeper/spawn.h"
#include "worker_agent/keeper/text.h"

namespace muster::agent {
namespace {

constexpr size_t kMaxProcesses = 2 * kMaxSlotsPerNode;
constexpr int64_t kFirstPauseMs = 5;
constexpr int64_t kLongestPauseMs = 200;
constexpr int64_t kLookIntoProcAfterMs = 80;  // a pause this long: see whether only zombies hold the group
constexpr int64_t kBeginPatienceMs = 5000;    // for the files of a process that is to begin
constexpr int64_t kEndPatienceMs = 1000;      // for those of one that has ended
constexpr int64_t kPurgePatienceMs = 30'000;  // a process that hangs in a driver must not keep KillAll busy for ever

bool IsGroupGone(pid_t group) { return ::kill(-group, 0) != 0 && errno == ESRCH; }

}  // namespace

Supervisor::Supervisor(Poller& poller, Sinks sinks, const KeeperOptions& options, const rlimit& open_files, Tell tell)
    : poller_(poller), sinks_(sinks), options_(options), open_files_(open_files), tell_(std::move(tell)) {}

// ------------------------------------------------------------------------------------------------------------ start

void Supervisor::Start(const ProcessSpec& spec) {
  if (spec.argv.empty() || spec.argv[0].empty()) return FailLaunch(spec.key, 126, "the command is empty");
  if (processes_.count(spec.key) + waiting_.count(spec.key) + burials_.count(spec.key) != 0) {
    return FailLaunch(spec.key, 126, absl::StrCat("slot ", spec.key.slot, " was started twice"));
  }
  if (processes_.size() + waiting_.size() >= kMaxProcesses) {
    return FailLaunch(spec.key, 126, absl::StrCat("more than ", kMaxProcesses, " processes on one agent"));
  }
  const ProcessKey key = spec.key;
  const int64_t now_ms = BootTimeMs();
  const bool is_late = sinks_.logs.IsLate(now_ms) || sinks_.files.IsLate(now_ms);
  Waiting& waiting = waiting_[key];
  waiting.spec = spec;
  waiting.begin_at_ms = is_late ? now_ms : now_ms + kBeginPatienceMs;
  waiting.answers_left = 1;  // our own, at the end of this
  auto answer = [this, key](const std::string& error) { TakeAnswer(key, error); };
  if (!spec.error_file.empty()) {
    ++waiting.answers_left;
    sinks_.files.Remove(spec.error_file, answer);
  }
  if (!spec.log_path.empty()) {
    ++waiting.answers_left;
    waiting.log = sinks_.logs.OpenLog(spec.log_path, spec.begins_log, answer);
  }
  TakeAnswer(key, "");
}

// Of a log that couldn't be opened in time, or whose process was refused meanwhile, nobody waits for the answer.
void Supervisor::TakeAnswer(const ProcessKey& key, const std::string& error) {
  const auto found = waiting_.find(key);
  if (found == waiting_.end()) {
    if (!error.empty()) sinks_.live.error().Write(absl::StrCat("ms-worker: ", error, "\n"), BootTimeMs());
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
  if (waiting.error.empty()) return Launch(process);
  FailLaunch(process, waiting.error);
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
  auto output = ProcessOutput::Create(spec, sinks_.live, poller_, {sinks_.logs, process.log}, ends);
  if (!output.ok()) return FailLaunch(process, std::string(output.status().message()));
  const int err = ends.err.is_open() ? ends.err.get() : ends.out.get();
  auto spawned = SpawnProcess(spec, ends.out.get(), err, open_files_);
  if (!spawned.ok()) return FailLaunch(process, std::string(spawned.status().message()));

  std::string& secret = process.spec.hand_over.bytes;
  explicit_bzero(secret.data(), secret.size());
  secret.clear();
  process.output = *std::move(output);
  process.pid = spawned->pid;
  process.number = ++last_number_;
  process.launch_report = std::move(spawned->launch_report);
  has_children_ = true;
  const ProcessKey key = spec.key;
  leaders_[process.pid] = key;
  Process& kept = processes_.emplace(key, std::move(process)).first->second;
  poller_.Watch(kept.launch_report.get(), EPOLLIN, [this, &kept] { ReadReport(kept); });
}

void Supervisor::FailLaunch(const Process& process, const std::string& text) {
  if (process.log != 0) sinks_.logs.CloseLog(process.log, {});
  FailLaunch(process.spec.key, 126, text);
}

void Supervisor::FailLaunch(const ProcessKey& key, int exit_code, const std::string& text) {
  Ended ended;
  ended.key = key;
  ended.exit_code = exit_code;
  ended.launch_error = CleanText(text, kMaxShortTextBytes);
  ended.ended_boottime_ms = BootTimeMs();
  tell_(ended);
}

void Supervisor::Refuse(const ProcessKey& key) {
  Ended ended;
  ended.key = key;
  ended.signal = options_.stop_signal;
  ended.was_stopped = true;
  ended.ended_boottime_ms = BootTimeMs();
  tell_(ended);
}

void Supervisor::ReadReport(Process& process) {
  if (!process.launch_report.is_open()) return;
  bool is_done = false;
  const std::optional<LaunchFailure> failure = ReadLaunchReport(process.spec, process.launch_report, is_done);
  if (!is_done) return;
  poller_.Forget(process.launch_report.get());
  process.launch_report.reset();
  if (failure.has_value()) {
    process.ended.launch_error = CleanText(failure->text, kMaxShortTextBytes);
    process.ended.exit_code = failure->exit_code;
  } else {
    tell_(Started{process.spec.key, process.pid});
  }
}

// ------------------------------------------------------------------------------------------------------------- stop

void Supervisor::BeginStop(Process& process, int64_t since_ms) {
  if (process.is_leader_reaped || process.ended.was_stopped) return;
  process.ended.was_stopped = true;
  process.kill_at_ms = since_ms + absl::ToInt64Milliseconds(options_.stop_timeout);
  if (process.kill_at_ms <= BootTimeMs()) return;  // RunDeadlines kills it: nothing that is suspended gets to run again
  // To the leader alone: a wrapper (bash, torchrun) decides for itself how its children end.
  ::kill(process.pid, options_.stop_signal);
  ::kill(-process.pid, SIGCONT);  // one that is suspended couldn't hear it
}

void Supervisor::Stop(const ProcessKey& key) {
  if (auto it = processes_.find(key); it != processes_.end()) BeginStop(it->second, BootTimeMs());
  if (auto found = waiting_.extract(key)) {
    if (found.mapped().log != 0) sinks_.logs.CloseLog(found.mapped().log, {});
    Refuse(key);
  }
}

void Supervisor::StopAll() { StopAllSince(BootTimeMs()); }

void Supervisor::FenceFell(int64_t since_ms) {
  StopAllSince(since_ms);
  if (processes_.empty()) return;
  purge_at_ms_ = since_ms + absl::ToInt64Milliseconds(options_.stop_timeout);
  purge_through_ = last_number_;
}

void Supervisor::StopAllSince(int64_t since_ms) {
  RefuseWaiting();
  for (auto& [key, process] : processes_) {
    BeginStop(process, since_ms);
    // One that was told to stop already has no more time than that either.
    if (!process.is_leader_reaped) {
      process.kill_at_ms = std::min(process.kill_at_ms, since_ms + absl::ToInt64Milliseconds(options_.stop_timeout));
    }
  }
}

void Supervisor::Forward(int signal) {
  for (const auto& [pid, key] : leaders_) ::kill(pid, signal);
}

void Supervisor::KillAll() {
  RefuseWaiting();
  BeginPurge(false, last_number_);
}

void Supervisor::KillForGood() {
  RefuseWaiting();
  BeginPurge(true, last_number_);
}

void Supervisor::BeginPurge(bool is_for_good, uint64_t last_number) {
  if (purge_ != nullptr && purge_->is_for_good) return;
  purge_ = std::make_unique<Purge>();
  purge_->last_number = last_number;
  purge_->is_for_good = is_for_good;
  purge_->pause_ms = kFirstPauseMs;
  if (!is_for_good) purge_->give_up_ms = BootTimeMs() + kPurgePatienceMs;
  // The groups first, without a look into /proc: that is nearly everybody.
  for (auto& [key, process] : processes_) {
    if (process.number > last_number) continue;
    if (!process.is_leader_reaped) process.ended.was_stopped = true;
    ::kill(-process.pid, SIGKILL);
  }
  RunPurge();
}

bool Supervisor::KillDescendants() {
  // Orphans come to the keeper, so without a child there is no descendant: nothing to look for in all of /proc, which
  // takes its time on a machine with thousands of processes.
  if (!has_children_) return false;
  std::set<pid_t> spared;
  for (const auto& [key, process] : processes_) {
    if (process.number > purge_->last_number) spared.insert(process.pid);
  }
  bool is_any_alive = false;
  for (const ProcessInfo& process : DescendantsOf(::getpid(), spared)) {
    if (!process.is_dead) is_any_alive = true;
    SignalExactly(process, SIGKILL);
  }
  return is_any_alive;
}

void Supervisor::RunPurge() {
  const bool is_any_alive = KillDescendants();
  const int64_t now_ms = BootTimeMs();
  if ((!is_any_alive && !purge_->is_for_good) || now_ms >= purge_->give_up_ms) {
    purge_.reset();
    return;
  }
  purge_->next_ms = now_ms + purge_->pause_ms;
  purge_->pause_ms = std::min(2 * purge_->pause_ms, kLongestPauseMs);
}

// -------------------------------------------------------------------------------------------------------------- end

void Supervisor::Reap() {
  while (true) {
    // Looks before it reaps: as long as a dead leader isn't reaped its number can't become another process's, so its
    // group can be signalled safely.
    siginfo_t info{};
    const int result = ::waitid(P_ALL, 0, &info, WEXITED | WNOHANG | WNOWAIT);
    if (result != 0 && errno == EINTR) continue;
    if (result != 0) has_children_ = false;  // ECHILD
    if (result != 0 || info.si_pid == 0) break;
    Process* process = FindByPid(info.si_pid);
    if (process != nullptr) {
      // A process that was stopped may leave others behind that deserve the signal too; else they are cut off.
      ::kill(-process->pid, process->ended.was_stopped ? options_.stop_signal : SIGKILL);
      if (process->ended.was_stopped) ::kill(-process->pid, SIGCONT);
    }
    int status = 0;
    ::waitpid(info.si_pid, &status, 0);
    if (process != nullptr) BuryLeader(*process, status);
  }
  LookAtGroups(false);
}

void Supervisor::BuryLeader(Process& process, int status) {
  leaders_.erase(process.pid);
  ReadReport(process);  // Started is told before Ended, and a launch error is known
  process.is_leader_reaped = true;
  process.ended.ended_boottime_ms = BootTimeMs();
  if (WIFSIGNALED(status)) {
    process.ended.signal = WTERMSIG(status);
    process.ended.core_dumped = WCOREDUMP(status);
  } else if (process.ended.launch_error.empty()) {
    process.ended.exit_code = WEXITSTATUS(status);
  }
  process.look_pause_ms = kFirstPauseMs;
  process.look_at_ms = process.ended.ended_boottime_ms + process.look_pause_ms;
  process.output->Drain();
}

void Supervisor::LookAtGroups(bool is_timed) {
  const int64_t now_ms = BootTimeMs();
  for (auto it = processes_.begin(); it != processes_.end();) {
    Process& process = it->second;
    ++it;
    if (!process.is_leader_reaped) continue;
    bool is_gone = IsGroupGone(process.pid);
    if (!is_gone && is_timed && now_ms >= process.look_at_ms) {
      // A zombie whose living parent is elsewhere would hold the group for ever.
      if (process.look_pause_ms >= kLookIntoProcAfterMs) is_gone = !HasLivingMember(process.pid);
      process.look_pause_ms = std::min(2 * process.look_pause_ms, kLongestPauseMs);
      process.look_at_ms = now_ms + process.look_pause_ms;
    }
    if (is_gone) Finish(process);
  }
}

void Supervisor::Finish(Process& process) {
  if (process.launch_report.is_open()) poller_.Forget(process.launch_report.get());
  Ended ended = std::move(process.ended);
  const std::string error_file = std::move(process.spec.error_file);
  std::unique_ptr<ProcessOutput> output = std::move(process.output);
  processes_.erase(ended.key);
  if (processes_.empty()) purge_at_ms_ = INT64_MAX;  // what comes below does it
  did_all_end_well_ &= !ended.was_stopped && ended.signal == 0 && ended.exit_code == 0;
  // What left its group may hold devices and ports that the next start needs. Nobody can tell whose it was, but now it
  // is nobody's.
  if (processes_.empty() && !std::exchange(did_all_end_well_, true)) BeginPurge(false, last_number_);
  Bury(std::move(ended), error_file, std::move(output));
}

void Supervisor::Bury(Ended ended, const std::string& error_file, std::unique_ptr<ProcessOutput> output) {
  const ProcessKey key = ended.key;
  const int64_t now_ms = BootTimeMs();
  // A helper that is late already has hardly got better.
  const bool waits_for_log = !sinks_.logs.IsLate(now_ms);
  const bool waits_for_error = !error_file.empty() && !sinks_.files.IsLate(now_ms);
  Burial& burial = burials_[key];
  burial.ended = std::move(ended);
  burial.tell_at_ms = now_ms + kEndPatienceMs;
  burial.answers_left = 1;  // our own, at the end of this
  if (output->has_log() && waits_for_log) ++burial.answers_left;
  burial.ended.last_lines = output->Finish([this, key, waits_for_log] {
    if (waits_for_log) TakeLastAnswer(key, "");
  });
  if (waits_for_error) {
    ++burial.answers_left;
    sinks_.files.ReadErrorFile(error_file, [this, key](const std::string& text) { TakeLastAnswer(key, text); });
  }
  TakeLastAnswer(key, "");
}

void Supervisor::TakeLastAnswer(const ProcessKey& key, const std::string& error_message) {
  const auto found = burials_.find(key);
  if (found == burials_.end()) return;  // told without it
  if (!error_message.empty()) found->second.ended.error_message = error_message;
  if (--found->second.answers_left == 0) tell_(burials_.extract(found).mapped().ended);
}

Supervisor::Process* Supervisor::FindByPid(pid_t pid) {
  auto it = leaders_.find(pid);
  return it == leaders_.end() ? nullptr : &processes_.at(it->second);
}

// -------------------------------------------------------------------------------------------------------- deadlines

void Supervisor::RunFileDeadlines(int64_t now_ms) {
  std::vector<ProcessKey> due;
  for (const auto& [key, waiting] : waiting_) {
    if (now_ms >= waiting.begin_at_ms) due.push_back(key);
  }
  for (const ProcessKey& key : due) BeginWaiting(key);
  for (auto it = burials_.begin(); it != burials_.end();) {
    const auto burial = it++;
    if (now_ms >= burial->second.tell_at_ms) tell_(burials_.extract(burial).mapped().ended);
  }
}

void Supervisor::RunDeadlines() {
  const int64_t now_ms = BootTimeMs();
  for (auto& [key, process] : processes_) {
    if (process.output != nullptr) process.output->Resume(now_ms);
    if (now_ms < process.kill_at_ms) continue;
    process.kill_at_ms = INT64_MAX;
    ::kill(-process.pid, SIGKILL);
  }
  if (now_ms >= purge_at_ms_) {
    purge_at_ms_ = INT64_MAX;
    BeginPurge(false, purge_through_);
  }
  if (purge_ != nullptr && now_ms >= purge_->next_ms) RunPurge();
  RunFileDeadlines(now_ms);
  LookAtGroups(true);
}

int64_t Supervisor::NextDeadline() const {
  int64_t next = std::min(purge_at_ms_, purge_ != nullptr ? purge_->next_ms : INT64_MAX);
  for (const auto& [key, waiting] : waiting_) next = std::min(next, waiting.begin_at_ms);
  for (const auto& [key, burial] : burials_) next = std::min(next, burial.tell_at_ms);
  for (const auto& [key, process] : processes_) {
    next = std::min(next, process.kill_at_ms);
    if (process.is_leader_reaped) next = std::min(next, process.look_at_ms);
  }
  return next;
}

}  // namespace muster::agent
